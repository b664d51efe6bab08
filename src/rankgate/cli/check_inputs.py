"""From parsed arguments to the inputs of a check."""

from __future__ import annotations

import argparse

from rankgate.cli.options import date_of
from rankgate.criteria.inputs import Inputs


def inputs_of(arguments: argparse.Namespace) -> Inputs:
    """What `--criteria`, `--gold`, `--run`, `--baseline` and `--date` name."""
    return Inputs(
        criteria=arguments.criteria,
        date=date_of(arguments),
        gold=arguments.gold,
        run=arguments.run,
        baseline=arguments.baseline,
    )
