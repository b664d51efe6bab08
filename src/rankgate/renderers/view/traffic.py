"""What a change does to questions without labels, as the second line of the conclusion."""

from __future__ import annotations

from rankgate.model.report import Report
from rankgate.model.traffic_words import traffic_command, traffic_line
from rankgate.renderers.escape import Pieces, Sentence, Text, command_line


def traffic_sentence(report: Report) -> Sentence:
    """The line, and the command that draws questions to label; nothing where no traffic is named."""
    if report.traffic is None:
        return ()
    pieces = Pieces(40)
    line = pieces.sentence(traffic_line(report.traffic, pieces.spell))
    command = traffic_command(report.traffic)
    return (*line, " To label: ", Text(command_line(command))) if command else line
