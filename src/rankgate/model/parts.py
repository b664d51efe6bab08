"""Values in parts whose keys stand beside each other in a file: to such a row and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Parts = Mapping[str, type[msgspec.Struct]]  # by the field that holds it


def to_row(value: msgspec.Struct, parts: Parts) -> dict[str, Any]:
    """A value by its keys and those of its parts; what they hold is not copied."""
    row = msgspec.structs.asdict(value)
    held = [row.pop(name) for name in parts]  # all of them first: a part may have the name of another one's key
    for part in held:
        row |= msgspec.structs.asdict(part)
    return row


def in_parts(row: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """The keys of a row, those of each part by themselves; a key that is absent stays so."""
    rest = dict(row)
    held = {name: {key: rest.pop(key) for key in part.__struct_fields__ if key in rest} for name, part in parts.items()}
    return rest | held
