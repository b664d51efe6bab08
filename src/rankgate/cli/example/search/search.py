"""A search of the help centre: BM25 over its articles, by the first letters of words. Change it, and check again."""

import json
import math
import re
from collections import Counter
from pathlib import Path

TITLE = 2  # how many times a title counts
MOST = 100  # articles that the index holds
STEM = 5  # letters of a word that are compared


def words(text: str) -> list[str]:
    """What a text is found by."""
    return [word[:STEM] for word in re.findall(r"[^\W_]{2,}", text.lower())]


LINES = Path(__file__).parents[1].joinpath("articles.jsonl").read_text(encoding="utf-8").splitlines()
ARTICLES = [json.loads(line) for line in LINES[:MOST]]
INDEX = {each["id"]: Counter(words(f"{each['title']} " * TITLE + each["text"])) for each in ARTICLES}
HAVING = Counter(word for counts in INDEX.values() for word in counts)
LENGTH = sum(counts.total() for counts in INDEX.values()) / len(INDEX)


def weight(word: str, counts: Counter[str]) -> float:
    """What a word of the question says for an article."""
    rarity = math.log(1 + (len(INDEX) - HAVING[word] + 0.5) / (HAVING[word] + 0.5))
    return rarity * counts[word] / (counts[word] + 1.5 * (0.25 + 0.75 * counts.total() / LENGTH))


def retrieve(question: str) -> list[tuple[str, float]]:
    """The twenty best articles with their scores."""
    searched = words(question)
    weights = {id_: [weight(word, counts) for word in searched if word in counts] for id_, counts in INDEX.items()}
    scores = {id_: round(sum(each), 4) for id_, each in weights.items()}
    return sorted((pair for pair in scores.items() if pair[1]), key=lambda pair: (-pair[1], pair[0]))[:20]
