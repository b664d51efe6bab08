#!/usr/bin/env python3
"""Write the three runs of the embedded example: a real BM25 over the articles of a help centre in three languages.

One index holds every article; articles and questions go through the analyser of their own language. The runs are

- `accepted`: the search as it should be;
- `harmless`: the title of an article counts three times instead of twice, which moves a few questions up and others
  down, and no metric enough to block for;
- `harmful`: the analyser of a question is chosen by region, so that Brazil is searched as the rest of Latin America,
  in Spanish. English and Argentine questions stay exactly as they were.

The files depend on the articles, the gold set and this script alone: no clock, no latencies, scores rounded before they
are sorted. `--check` compares them with the committed ones instead of writing.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s
import snowballstemmer
import yaml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "src" / "rankgate" / "cli" / "example"

DEPTH = 20  # results kept per question
TITLED = 3  # of these, the first ones carry the title as their text
CUTOFF = 5  # of the recall in the printed table
INDEX_VERSION = "help-centre-2025-06-02"

WORD = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class Article:
    """A help-centre article."""

    id: str
    lang: str
    topic: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A sample of the gold set; `relevant` is empty when the help centre has no answer."""

    id: str
    lang: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True)
class Analyser:
    """Text to index terms: lower case, words of two characters or more, no stop words, Snowball stems. Accents stay."""

    language: str
    stop_words: frozenset[str]

    def terms(self, text: str) -> list[str]:
        """The stems of `text`, in order and with repetitions."""
        stemmer = snowballstemmer.stemmer(self.language)
        return [stemmer.stemWord(word) for word in WORD.findall(text.lower()) if word not in self.stop_words]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = Analyser(
    "english",
    _words(
        """about after again all also am an and any are as at be because been before but by can could did didn do does
        doesn doing don done for from get gets got had has have he her here him his how if in into is isn it its just
        let like me much my no not now of on or our out please she should so some somebody someone something that the
        their them then there these they thing this those to too us want wants was we were what when where which who
        whose why will with won would you your yours"""
    ),
)
PORTUGUESE = Analyser(
    "portuguese",
    _words(
        """acho agora ainda algo alguém algum ao aos aquela aquele as até cada com como da das de dela dele deles depois
        do dos dá ela elas ele eles em entre era essa esse esta estamos estar estou está estão eu faz fazer faço foi
        foram gente há isso isto já la lhe lo mais mas me meu meus minha minhas muito na nas no nos nossa nosso num numa
        nao não nós onde os ou para pela pelas pelo pelos pode podem podemos por porque posso pra pras pro pros quais
        qual quando quanto quantos que quem quer quero se sem ser seu seus sua suas são só também te tem tenho ter toda
        todas todo todos tudo tá tô um uma vai vou vão voce voces você vocês às"""
    ),
)
SPANISH = Analyser(
    "spanish",
    _words(
        """al algo alguien algún ahora antes aunque cada como con cuando cuál cuáles cuándo cuánta cuánto cómo de del
        desde donde dónde el ella ellas ellos en entre era es esa ese eso esos esta estas este esto estos está están
        estoy fue ha hace hacer hago han hasta hay he la las le les lo los me mi mis mucho muy más mí nada ni no nos
        nosotros otra otro para pero podemos podés por porque puede pueden puedo que quien quiere quieren quiero quién
        qué se sea ser si sin sobre solo son soy su sus sí también te tengo tiene tienen todo todos tu tus un una uno
        unos ustedes va vos voy ya yo él"""
    ),
)
BY_LANGUAGE = {"en": ENGLISH, "pt-BR": PORTUGUESE, "es-AR": SPANISH}
BY_REGION = {"en": ENGLISH, "pt-BR": SPANISH, "es-AR": SPANISH}


@dataclass(frozen=True)
class System:
    """A search configuration; its name is the name of its run file."""

    name: str
    label: str
    question_analysers: Mapping[str, Analyser]
    title_weight: int  # how many times the title is indexed


SYSTEMS = (
    System("accepted", "bm25", BY_LANGUAGE, title_weight=2),
    System("harmless", "bm25, title x3", BY_LANGUAGE, title_weight=3),
    System("harmful", "bm25, analyser by region", BY_REGION, title_weight=2),
)


def read_articles(path: Path) -> list[Article]:
    """The articles of a JSONL file."""
    return [Article(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def read_questions(path: Path) -> list[Question]:
    """The questions of a gold set whose samples carry a `lang:` tag."""
    return [_question(sample) for sample in yaml.safe_load(path.read_text(encoding="utf-8"))["samples"]]


def _question(sample: Mapping[str, Any]) -> Question:
    tags = dict(tag.split(":", 1) for tag in sample["metadata"]["tags"])
    return Question(sample["id"], tags["lang"], sample["input"]["question"], frozenset(sample["expected_output"]))


def run_lines(system: System, articles: Sequence[Article], questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """The run of a system, one line per question, in the order of the gold set."""
    corpus = [
        BY_LANGUAGE[article.lang].terms(" ".join([article.title] * system.title_weight + [article.text]))
        for article in articles
    ]
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    index.index(corpus, show_progress=False)
    known = {term for terms in corpus for term in terms}
    for question in questions:
        analyser = system.question_analysers[question.lang]
        terms = [term for term in analyser.terms(question.text) if term in known]
        yield {
            "query_id": question.id,
            "system": system.label,
            "k_raw": DEPTH,
            "topk": _topk(index.get_scores(terms) if terms else [0.0] * len(articles), articles),
            "index_version": INDEX_VERSION,
            "analyser": analyser.language,
        }


def _topk(scores: Sequence[float], articles: Sequence[Article]) -> list[dict[str, Any]]:
    """The best articles with a positive score, best first, ties by id: rounded first, so that any machine agrees."""
    scored = [(round(float(score), 4), article) for score, article in zip(scores, articles, strict=True)]
    found = [pair for pair in scored if pair[0] > 0]
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [
        {"rank": rank, "chunk_id": article.id, "score": score} | ({"text": article.title} if rank <= TITLED else {})
        for rank, (score, article) in enumerate(found[:DEPTH], start=1)
    ]


def recall_and_mrr(run: Sequence[Mapping[str, Any]], questions: Sequence[Question]) -> tuple[float, float]:
    """Mean recall@5 and mean reciprocal rank over the questions that have an answer, from their textbook formulas."""
    ranked = {line["query_id"]: [item["chunk_id"] for item in line["topk"]] for line in run}
    recalls, reciprocal_ranks = [], []
    for question in questions:
        if question.relevant:
            ids = ranked[question.id]
            recalls.append(len(question.relevant.intersection(ids[:CUTOFF])) / len(question.relevant))
            first = next((rank for rank, id_ in enumerate(ids, start=1) if id_ in question.relevant), None)
            reciprocal_ranks.append(1 / first if first else 0.0)
    return sum(recalls) / len(recalls), sum(reciprocal_ranks) / len(reciprocal_ranks)


def print_table(runs: Mapping[str, Sequence[Mapping[str, Any]]], questions: Sequence[Question]) -> None:
    """Print recall@5 and MRR per run, overall and by language."""
    print(f"{'run':<10} {'lang':<6} {'questions':>9} {f'recall@{CUTOFF}':>9} {'mrr':>7}")
    for name, run in runs.items():
        for lang in ("all", *BY_LANGUAGE):
            chosen = [question for question in questions if lang in {"all", question.lang} and question.relevant]
            recall, mrr = recall_and_mrr(run, chosen)
            print(f"{name:<10} {lang:<6} {len(chosen):>9} {recall:>9.4f} {mrr:>7.4f}")


def difference(path: Path, expected: str) -> str | None:
    """What is wrong with a committed run file, or None when it is as expected."""
    if not path.exists():
        return f"{path} is missing"
    found_lines, expected_lines = path.read_bytes().split(b"\n"), expected.encode().split(b"\n")
    for number, (found, line) in enumerate(zip(found_lines, expected_lines, strict=False), start=1):
        if found != line:
            return f"{path}:{number} is not what the articles and the gold set give"
    if len(found_lines) != len(expected_lines):
        return f"{path} has {len(found_lines) - 1} lines instead of {len(expected_lines) - 1}"
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the runs; 1 when a checked file differs."""
    parser = argparse.ArgumentParser(description="Write the runs of the embedded example.")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--directory", type=Path, default=EXAMPLE, help="where articles.jsonl and gold.yaml are")
    options = parser.parse_args(argv)

    articles = read_articles(options.directory / "articles.jsonl")
    questions = read_questions(options.directory / "gold.yaml")
    runs = {system.name: list(run_lines(system, articles, questions)) for system in SYSTEMS}

    problems = []
    for name, run in runs.items():
        path = options.directory / "runs" / f"{name}.jsonl"
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in run)
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        elif problem := difference(path, text):
            problems.append(problem)

    print_table(runs, questions)
    for problem in problems:
        print(f"error: {problem}; run `python scripts/make_example.py` and commit the result", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
