"""Which queries share a tag."""

from __future__ import annotations

import pytest

from rankgate.metrics.tags import segments_of
from rankgate.model.values import Gold, Sample


def gold(*tags: str) -> Gold:
    samples = {
        f"q{row}": Sample(query_id=f"q{row}", gains={}, tags=tuple(each.split())) for row, each in enumerate(tags)
    }
    return Gold(samples=samples, name="gold.yaml", format="yaml")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(["lang"], {"lang:en": [1], "lang:pt-BR": [0, 2]}, id="one key, in the order of names"),
        pytest.param(["topic"], {"topic:a": [0, 2], "topic:b": [0]}, id="a query with two tags of a key is in both"),
        pytest.param(
            ["lang", "topic"],
            {"lang:pt-BR × topic:a": [0, 2], "lang:pt-BR × topic:b": [0]},
            id="two keys: a query that lacks one is in none",
        ),
        pytest.param(["urgent"], {}, id="a bare word is no key"),
        pytest.param(["land"], {}, id="a key that nobody has"),
        pytest.param(["at"], {"at:10:30": [3]}, id="a value may hold colons"),
    ],
)
def test_segments(keys: list[str], expected: dict[str, list[int]]) -> None:
    tagged = gold("lang:pt-BR topic:a topic:b", "lang:en urgent", "topic:a lang:pt-BR lang:pt-BR", "at:10:30")
    assert segments_of(tagged, keys) == expected
