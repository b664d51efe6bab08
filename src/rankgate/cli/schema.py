"""`rankgate schema`: the JSON Schema of the ship criteria, for editors."""

from __future__ import annotations

import argparse

from rankgate.cli.options import make_parser


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    return make_parser(
        "schema",
        "Print the JSON Schema of ship-criteria.yaml. Editors read it through the first line of the file:\n"
        "# yaml-language-server: $schema=ship-criteria.schema.json",
        ["rankgate schema > ship-criteria.schema.json"],
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    import json

    from rankgate.written import json_schema

    del arguments
    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0
