"""Jinja: what templates may use, ours and those of users, and what is wrong with one that does not render."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from traceback import walk_tb
from typing import Any

import jinja2

from rankgate.model.values import Reason
from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, value_text
from rankgate.renderers import phrases, question_rows, rows, sections
from rankgate.renderers.escape import cell, code, shorten, visible

# What templates call by their own names.
_FUNCTIONS: tuple[Callable[..., object], ...] = (
    *(phrases.shown_gates, phrases.deciding, phrases.others, phrases.others_line, phrases.values_line),
    *(phrases.gate_baseline, phrases.gate_now, phrases.gate_now_interval, phrases.gate_change),
    *(phrases.gate_change_interval, phrases.gate_limit, phrases.gate_status, phrases.queries_line),
    *(phrases.rank_move, phrases.segment_text, phrases.moved_head),
    *(
        rows.gate_row,
        rows.gate_rows,
        rows.reasons,
        rows.other_reasons,
        rows.headline,
        rows.next_line,
        rows.first_look,
        rows.odd_line,
        rows.differs,
    ),
    *(rows.base_head, rows.base_items, rows.source_item, rows.compared, rows.command_block),
    *(question_rows.moved_line, question_rows.moved_questions, question_rows.move_item, question_rows.all_listed),
    *(rows.segment_head, rows.segment_row),
    *(sections.sections, sections.trend_head, sections.trend_rows),
)


@cache
def environment(*, sandboxed: bool) -> jinja2.Environment:
    """Our Jinja environment; a user's template runs in a sandbox in which values cannot be changed."""
    kind = jinja2.Environment
    if sandboxed:
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- paid only for users' templates

        class Sandbox(ImmutableSandboxedEnvironment):
            # The two ways by which Jinja reaches an attribute, also in filters such as `map`.
            def getattr(self, obj: Any, attribute: str) -> Any:
                return _worded(super().getattr(obj, attribute))

            def getitem(self, obj: Any, argument: Any) -> Any:
                return _worded(super().getitem(obj, argument))

        kind = Sandbox
    environment = kind(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        optimized=False,  # folding constants costs more than a template that is rendered once gains
    )
    environment.filters |= {each.__name__: each for each in (code, cell, shorten, visible, rows.unbroken, rows.named)}
    environment.globals |= {each.__name__: each for each in _FUNCTIONS}
    environment.globals.update(
        icon=phrases.ICONS.__getitem__,
        word=VERDICT_WORDS.__getitem__,
        amount=value_text,
        change=delta_text,
        count=count_text,
        segment_tag=attrgetter("tag"),
        segments_line=partial(phrases.segments_line, spell=partial(code, limit=80)),
    )
    return environment


def _worded(value: Any) -> Any:
    """Reasons as the sentences that `gate.reasons` has always given to templates; anything else as it is."""
    reasons = isinstance(value, list) and value and all(isinstance(each, Reason) for each in value)
    return [each.text for each in value] if reasons else value


def mistake(error: BaseException) -> tuple[str, int | None]:
    """What is wrong with a template, and in which of its lines, from what its rendering raised."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.message or "bad syntax", error.lineno
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == "<template>"]
    return str(error), lines[-1] if lines else None
