"""The pull-request comment, through Jinja: ours, or a template of the user."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rankgate.errors import bad_input
from rankgate.renderers import phrases
from rankgate.renderers.escape import block, cell, code, shorten, visible
from rankgate.report import BARE_TAG, Report, Segment, Source
from rankgate.wording import VERDICT_WORDS, count_text, delta_text, value_text

TEMPLATES = Path(__file__).parent / "templates"


def render_markdown(report: Report, template: str | None = None) -> str:
    """The comment, ending in one newline.

    Args:
        report: what to show.
        template: path of a Jinja template to use instead of ours; it sees `report` and the filters and functions that
            docs/templates.md lists. Text from the inputs must go through `code`, or `cell` within a table.

    Raises:
        RankgateError: the template cannot be read or does not render.
    """
    path = Path(template) if template else TEMPLATES / "comment.md.j2"
    name = path.as_posix() if template else path.name
    try:
        source = path.read_text(encoding="utf-8")
        text = environment(sandboxed=template is not None).from_string(source).render(report=report)
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=name) from error
    except jinja2.TemplateSyntaxError as error:
        raise bad_input(f"template error: {error.message}", file=name, line=error.lineno) from error
    except Exception as error:  # a template can call anything with anything
        raise bad_input(f"template error: {error}", file=name, line=_line_in_template(error)) from error
    return text.strip() + "\n"


@cache
def environment(*, sandboxed: bool) -> jinja2.Environment:
    """Our Jinja environment; a user's template runs in a sandbox in which values cannot be changed."""
    kind = ImmutableSandboxedEnvironment if sandboxed else jinja2.Environment
    made = kind(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters.update(code=code, cell=cell, shorten=shorten, visible=visible, unbroken=unbroken, named=named)
    made.globals.update(
        icon=phrases.ICONS.__getitem__,
        word=VERDICT_WORDS.__getitem__,
        amount=value_text,
        change=delta_text,
        count=count_text,
        gate_baseline=phrases.gate_baseline,
        gate_now=phrases.gate_now,
        gate_change=phrases.gate_change,
        gate_change_interval=phrases.gate_change_interval,
        gate_limit=phrases.gate_limit,
        gate_status=phrases.gate_status,
        queries_line=phrases.queries_line,
        rank_move=phrases.rank_move,
        segment_text=phrases.segment_text,
        segment_tag=segment_tag,
        facts_of=facts_of,
        command_block=command_block,
    )
    return made


def named(text: str, report: Report) -> str:
    """Text of ours with metrics that have parameters as code; to GitHub the end of `recall(rel=2)@5` names a user."""
    names = sorted((name for name in report.metrics if "(" in name), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda match: f"`{match[0]}`", text) if names else text


def unbroken(text: str) -> str:
    """Numbers kept together with their units where a narrow cell wraps."""
    return text.replace(" pp", "&nbsp;pp").replace(" ms", "&nbsp;ms").replace("at most ", "at most&nbsp;")


def segment_tag(segment: Segment) -> str:
    """The tag as the gold has it."""
    return segment.value if segment.dimension == BARE_TAG else f"{segment.dimension}:{segment.value}"


def facts_of(source: Source) -> list[str]:
    """What a run says of itself in a word or a number, as `key=value`."""
    return [f"{key}={value}" for key, value in source.about.items() if isinstance(value, str | int | float)]


def command_block(command: Sequence[str]) -> str:
    """A command line to copy."""
    return block([shlex.join(command)], "sh")


def _line_in_template(error: BaseException) -> int | None:
    line = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == "<template>":
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
