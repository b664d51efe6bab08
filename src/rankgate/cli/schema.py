"""`rankgate schema`: the JSON Schema of the ship criteria, or of waivers, for editors."""

from __future__ import annotations

import argparse
import json

from rankgate.cli.options import make_parser
from rankgate.criteria import Criteria
from rankgate.criteria.parts import json_schema
from rankgate.criteria.waivers import WaiverFile


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "schema",
        "Print the JSON Schema of ship-criteria.yaml. Editors read it through the first line of the file:\n"
        "# yaml-language-server: $schema=ship-criteria.schema.json",
        "rankgate schema > ship-criteria.schema.json",
        "rankgate schema --waivers > ship-waivers.schema.json",
    )
    options.add_argument("--waivers", action="store_true", help="the schema of ship-waivers.yaml")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    file = (WaiverFile, "rankgate waivers") if arguments.waivers else (Criteria, "rankgate ship criteria")
    schema = json_schema(*file)
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0
