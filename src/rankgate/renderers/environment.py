"""Jinja: what templates may use, ours and those of users, and what is wrong with one that does not render."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jinja2

from rankgate.model.report import Segment
from rankgate.model.values import Reason
from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, value_text
from rankgate.renderers import phrases, question_rows, rows, sections, segment_rows
from rankgate.renderers.escape import cell, code, shorten, visible


def segment_tag(segment: Segment) -> str:
    """The tag as the gold has it."""
    return segment.tag


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
        sections=sections.sections,
        shown_gates=phrases.shown_gates,
        segments_line=partial(phrases.segments_line, spell=partial(code, limit=80)),
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
        segment_tag=segment_tag,
        values_line=phrases.values_line,
        others_line=phrases.others_line,
        deciding=phrases.deciding,
        others=phrases.others,
        gate_row=rows.gate_row,
        gate_rows=rows.gate_rows,
        reasons=rows.reasons,
        other_reasons=rows.other_reasons,
        first_look=rows.first_look,
        odd_line=rows.odd_line,
        differs=rows.differs,
        base_head=rows.base_head,
        base_items=rows.base_items,
        moved_head=phrases.moved_head,
        moved_line=question_rows.moved_line,
        moved_questions=question_rows.moved_questions,
        move_item=question_rows.move_item,
        all_listed=question_rows.all_listed,
        segment_head=segment_rows.segment_head,
        segment_row=segment_rows.segment_row,
        segment_legend=segment_rows.segment_legend,
        trend_head=sections.trend_head,
        trend_rows=sections.trend_rows,
        source_item=rows.source_item,
        compared=rows.compared,
        command_block=rows.command_block,
    )
    return made


def _worded(value: Any) -> Any:
    """Reasons as the sentences that `gate.reasons` has always given to templates; anything else as it is."""
    reasons = isinstance(value, list) and value and all(isinstance(each, Reason) for each in value)
    return [each.text for each in value] if reasons else value


def mistake(error: BaseException) -> tuple[str, int | None]:
    """What is wrong with a template, and in which of its lines, from what its rendering raised."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.message or "bad syntax", error.lineno
    return str(error), _line_in_template(error)


def _line_in_template(error: BaseException) -> int | None:
    line = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == "<template>":
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
