"""The pull-request comment, through Jinja: ours, or a template of the user."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jinja2

from rankgate.errors import bad_input
from rankgate.renderers import phrases, rows
from rankgate.renderers.escape import cell, code, shorten, visible
from rankgate.report import Report
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
    if template is None:  # our sections leave blank lines behind where they are empty
        text = re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", text, flags=re.MULTILINE))
    return text.strip() + "\n"


@cache
def environment(*, sandboxed: bool) -> jinja2.Environment:
    """Our Jinja environment; a user's template runs in a sandbox in which values cannot be changed."""
    kind = jinja2.Environment
    if sandboxed:
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- paid only for users' templates

        kind = ImmutableSandboxedEnvironment
    made = kind(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        optimized=False,  # folding constants costs more than a template that is rendered once gains
    )
    made.filters.update(
        code=code, cell=cell, shorten=shorten, visible=visible, unbroken=rows.unbroken, named=rows.named
    )
    made.globals.update(
        icon=phrases.ICONS.__getitem__,
        word=VERDICT_WORDS.__getitem__,
        amount=value_text,
        change=delta_text,
        count=count_text,
        shown_gates=phrases.shown_gates,
        segments_line=phrases.segments_line,
        gate_baseline=phrases.gate_baseline,
        gate_now=phrases.gate_now,
        gate_now_interval=phrases.gate_now_interval,
        gate_change=phrases.gate_change,
        gate_change_interval=phrases.gate_change_interval,
        gate_limit=phrases.gate_limit,
        gate_status=phrases.gate_status,
        queries_line=phrases.queries_line,
        rank_move=phrases.rank_move,
        segment_text=phrases.segment_text,
        segment_tag=rows.segment_tag,
        gate_row=rows.gate_row,
        reasons=rows.reasons,
        first_look=rows.first_look,
        moved_questions=rows.moved_questions,
        move_item=rows.move_item,
        segment_head=rows.segment_head,
        segment_row=rows.segment_row,
        source_item=rows.source_item,
        command_block=rows.command_block,
    )
    return made


def _line_in_template(error: BaseException) -> int | None:
    line = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == "<template>":
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
