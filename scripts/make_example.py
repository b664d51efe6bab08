#!/usr/bin/env python3
"""Write the four runs of the embedded example, and what a judge of their answers says, for the demo to replay.

The rankings are a real BM25's over the articles of a help centre in three languages. One index holds every article;
articles and questions go through the analyser of their own language. The runs are

- `accepted`: the search as it should be;
- `harmless`: the title of an article counts three times instead of twice, which moves a few questions up and others
  down, and no metric enough to block for;
- `harmful`: the analyser of a question is chosen by region, so that Brazil is searched as the rest of Latin America,
  in Spanish. English and Argentine questions stay exactly as they were;
- `generator`: the rankings of `accepted` to the letter, and a generator that writes what its passages do not say.

No model wrote an answer, and none judged one. `example_answers.yaml` has the sentences and their labels, by hand; here
each generator chooses from them by the passages that it got, and the labels become the replies of a judge.

The files depend on the articles, the gold set, those answers and this script alone: no clock, no latencies, scores
rounded before they are sorted. `--check` compares them with the committed ones instead of writing.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import bm25s
import snowballstemmer
import yaml

import rankgate
from rankgate.criteria import load_criteria
from rankgate.judge.identity import judges_of, messages_of
from rankgate.judge.model import Answer, Inputs, Judge, Passage
from rankgate.judge.plan import next_round
from rankgate.judge.records import Record, Slot
from rankgate.judge.replies import parsed
from rankgate.judge.runs import verdict_kinds_of
from rankgate.judge.tasks import TASKS
from rankgate.model.verdicts import Unjudged
from rankgate.readers.formats import read_gold

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "src" / "rankgate" / "cli" / "example"
ANSWERS = Path(__file__).with_name("example_answers.yaml")

DEPTH = 20  # results kept per question
TITLED = 3  # of these, the first ones carry the title as their text
SHOWN = 3  # passages that the generator's prompt holds
DIGITS = 16  # of the hash of a question to the judge
CUTOFF = 5  # of the recall in the printed table
INDEX_VERSION = "help-centre-2025-06-02"

WORD = re.compile(r"[^\W_]{2,}")
_WORDS = {"quote", "against"}  # of an article, as they stand there


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
    claims: tuple[str, ...]  # of the gold set


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
    generator: str = "careful"


SYSTEMS = (
    System("accepted", "bm25", BY_LANGUAGE, title_weight=2),
    System("harmless", "bm25, title x3", BY_LANGUAGE, title_weight=3),
    System("harmful", "bm25, analyser by region", BY_REGION, title_weight=2),
    System("generator", "bm25", BY_LANGUAGE, title_weight=2, generator="eager"),
)
REFUSALS = {
    "en": "The help centre has no answer to this.",
    "pt-BR": "A central de ajuda não tem resposta para isso.",
    "es-AR": "El centro de ayuda no tiene respuesta para esto.",
}


@dataclass(frozen=True)
class Part:
    """What an answer to a question may say, as `example_answers.yaml` explains."""

    quote: str = ""
    text: str = ""
    worse: str = ""
    against: str = ""
    adds: str = ""


def read_articles(path: Path) -> list[Article]:
    """The articles of a JSONL file."""
    return [Article(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def read_questions(path: Path) -> list[Question]:
    """The questions of a gold set whose samples carry a `lang:` tag."""
    questions: list[Question] = []
    for sample in read_gold(str(path)).samples.values():
        [lang] = [tag.removeprefix("lang:") for tag in sample.tags if tag.startswith("lang:")]
        claims = tuple(claim.text for claim in sample.claims)
        questions.append(Question(sample.query_id, lang, sample.question or "", frozenset(sample.relevant()), claims))
    return questions


def read_parts(path: Path, articles: Sequence[Article], questions: Sequence[Question]) -> dict[str, list[Part]]:
    """The parts of the answers by question; the first ones state its claims, each by words of an article for it."""
    found = {}
    for query_id, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        parts = [
            Part(**{key: _sentence(text) if key not in _WORDS else text for key, text in entry.items()})
            for entry in entries
        ]
        found[query_id] = [
            replace(part, text=part.text or _sentence(part.quote)) if part.quote else part for part in parts
        ]
    for question in questions:
        texts = [article.text for article in articles if article.id in question.relevant]
        quotes = [part.quote for part in found[question.id] if part.quote]
        if len(quotes) != len(question.claims) or not all(any(quote in text for text in texts) for quote in quotes):
            raise ValueError(f"{path}: {question.id}: one quote of a relevant article for each claim of the gold set")
    return found


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def answer_of(generator: str, parts: Sequence[Part], passages: Sequence[str], lang: str) -> list[str]:
    """The sentences of an answer: of a careful generator, those that a passage supports; or else a refusal."""
    said = [part.text for part in parts if part.quote and any(part.quote in passage for passage in passages)]
    if generator == "eager":
        said = [part.worse or part.text for part in parts if part.worse or part.text in said]
    return [*said, *(part.adds for part in parts if part.adds)] or [REFUSALS[lang]]


def run_lines(
    system: System, articles: Sequence[Article], questions: Sequence[Question], parts: Mapping[str, Sequence[Part]]
) -> Iterator[dict[str, Any]]:
    """The run of a system, one line per question, in the order of the gold set."""
    corpus = {
        article.id: BY_LANGUAGE[article.lang].terms(" ".join([article.title] * system.title_weight + [article.text]))
        for article in articles
    }
    analysers = [system.question_analysers[question.lang] for question in questions]
    searched = [analyser.terms(question.text) for analyser, question in zip(analysers, questions, strict=True)]
    found = bm25(corpus, searched, k1=1.5, digits=4)
    texts = {article.id: article.text for article in articles}
    titles = {article.id: {"text": article.title} for article in articles}
    for question, analyser, results in zip(questions, analysers, found, strict=True):
        topk: list[dict[str, Any]] = [
            {"rank": rank, "chunk_id": id_, "score": score} | (titles[id_] if rank <= TITLED else {})
            for rank, (id_, score) in enumerate(results[:DEPTH], start=1)
        ]
        context = [id_ for id_, _ in results[:SHOWN]]
        said = answer_of(system.generator, parts[question.id], [texts[id_] for id_ in context], question.lang)
        yield {
            "query_id": question.id,
            "system": system.label,
            "k_raw": DEPTH,
            "topk": topk,
            "index_version": INDEX_VERSION,
            "analyser": analyser.language,
            "generator": system.generator,
            "answer": " ".join(said),
            "context": context,
        }


def bm25(
    corpus: Mapping[str, Sequence[str]], searched: Iterable[Sequence[str]], *, k1: float, digits: int
) -> Iterator[list[tuple[str, float]]]:
    """For each search the documents with a positive score, best first, ties by id, from the terms of both.

    Scores are rounded before they are sorted, so that any machine agrees.
    """
    index = bm25s.BM25(method="lucene", k1=k1, b=0.75, dtype="float64")
    index.index(list(corpus.values()), show_progress=False)
    known = {term for terms in corpus.values() for term in terms}
    for terms in searched:
        indexed = [term for term in terms if term in known]
        scores = index.get_scores(indexed).tolist() if indexed else []
        rounded = [(id_, round(score, digits)) for id_, score in zip(corpus, scores, strict=False)]
        yield sorted((pair for pair in rounded if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))


class Labels:
    """The labels as a judge would state them: the claims of an answer, and the words that support or exclude one."""

    def __init__(self, parts: Mapping[str, Sequence[Part]], questions: Sequence[Question]) -> None:
        self._refusals = set(REFUSALS.values())
        self._sentences = {
            text for each in parts.values() for part in each for text in (part.text, part.worse, part.adds)
        }
        self._words: dict[str, dict[str, str]] = {}  # of a statement: the words that decide it, and how
        for question in questions:
            for part in parts[question.id]:
                self._note(part.text, part.quote, "supported")
                self._note(part.worse, part.against, "contradicted")

    def _note(self, statement: str, words: str, verdict: str) -> None:
        if words:
            self._words.setdefault(statement, {})[words] = verdict

    def reply(self, inputs: Inputs) -> dict[str, Any]:
        """The answer to one question of a judge."""
        if inputs.task == "split":
            claims = [] if inputs.answer in self._refusals else re.findall(r"(?:[^.]|\.(?! |$))+\.", inputs.answer)
            claims = [claim.strip() for claim in claims]
            if not self._sentences.issuperset(claims):
                raise ValueError(f"no part has this: {inputs.answer}")
            return {"asserts": bool(claims), "claims": claims}
        return {"entries": [self._entry(n, each, inputs.passages) for n, each in enumerate(inputs.statements, start=1)]}

    def _entry(self, n: int, statement: str, passages: Sequence[str]) -> dict[str, Any]:
        for words, verdict in self._words.get(statement, {}).items():
            having = [place for place, passage in enumerate(passages, start=1) if words in passage]
            if having:
                return {"n": n, "verdict": verdict, "passages": having, "quote": words}
        return {"n": n, "verdict": "absent", "passages": [], "quote": ""}


def replay_lines(
    judge: Judge,
    verdict_kinds: frozenset[str],
    runs: Iterable[Sequence[Mapping[str, Any]]],
    articles: Sequence[Article],
    questions: Sequence[Question],
    labels: Labels,
) -> Iterator[dict[str, Any]]:
    """A judge's replies to all that is asked about the runs, each under the hash of the content of its prompt."""
    texts = {article.id: article.text for article in articles}
    known: dict[Slot, Record] = {}
    for run in runs:
        answers = [
            Answer(
                query_id=question.id,
                question=question.text,
                answer=line["answer"],
                context=tuple(Passage(id_, texts[id_]) for id_ in line["context"]),
            )
            for line, question in zip(run, questions, strict=True)
        ]
        while calls := next_round(answers, judge, verdict_kinds, known):
            for slot, inputs in calls:
                reply = labels.reply(inputs)
                answer = parsed(json.dumps(reply), TASKS[inputs.task])
                if isinstance(answer, Unjudged):
                    raise ValueError(f"no reply of this task: {reply}")
                known[slot] = Record(**slot._asdict(), verdicts=answer.verdicts(inputs))
                content = messages_of(judge.prompts, inputs, None)[1]["content"]
                yield {"content": hashlib.sha256(content.encode()).hexdigest()[:DIGITS], "reply": reply}


def print_table(runs: Mapping[str, Sequence[Mapping[str, Any]]], gold: Path, questions: Sequence[Question]) -> None:
    """Print recall@5 and MRR per run over the questions that have an answer, overall and by language."""
    recall_name = f"recall@{CUTOFF}"
    print(f"{'run':<10} {'lang':<6} {'questions':>9} {recall_name:>9} {'mrr':>7}")
    for name, run in runs.items():
        columns = rankgate.score(str(gold), list(run), metrics=(recall_name, "mrr")).columns
        for lang in ("all", *BY_LANGUAGE):
            rows = [row for row, each in enumerate(questions) if each.relevant and lang in {"all", each.lang}]
            recall, mrr = (fmean(column[row] or 0.0 for row in rows) for column in columns.values())
            print(f"{name:<10} {lang:<6} {len(rows):>9} {recall:>9.4f} {mrr:>7.4f}")


def difference(path: Path, expected: str) -> str | None:
    """What is wrong with a committed run file, or None when it is as expected."""
    if not path.exists():
        return f"{path} is missing"
    found_lines, expected_lines = path.read_bytes().split(b"\n"), expected.encode().split(b"\n")
    for number, (found, line) in enumerate(zip(found_lines, expected_lines, strict=False), start=1):
        if found != line:
            return f"{path}:{number} is not what the articles, the gold set and the answers give"
    if len(found_lines) != len(expected_lines):
        return f"{path} has {len(found_lines) - 1} lines instead of {len(expected_lines) - 1}"
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the files; 1 when a checked one differs."""
    parser = argparse.ArgumentParser(description="Write the runs of the embedded example, and the judge's replies.")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--directory", type=Path, default=EXAMPLE, help="where articles.jsonl and gold.yaml are")
    options = parser.parse_args(argv)

    articles = read_articles(options.directory / "articles.jsonl")
    questions = read_questions(options.directory / "gold.yaml")
    parts = read_parts(ANSWERS, articles, questions)
    runs = {system.name: list(run_lines(system, articles, questions, parts)) for system in SYSTEMS}
    criteria = load_criteria(str(options.directory / "ship-criteria.yaml"))
    if criteria.judge is None:
        parser.error("the criteria of the example name no judge")
    [judge] = judges_of(criteria.judge)
    verdict_kinds = verdict_kinds_of(criteria.metrics())
    replay = list(replay_lines(judge, verdict_kinds, runs.values(), articles, questions, Labels(parts, questions)))
    files = {Path("runs", f"{name}.jsonl"): run for name, run in runs.items()} | {Path("replay.jsonl"): replay}

    problems = []
    for name, lines in files.items():
        path = options.directory / name
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        elif problem := difference(path, text):
            problems.append(problem)

    print_table(runs, options.directory / "gold.yaml", questions)
    for problem in problems:
        print(f"error: {problem}; run `python scripts/make_example.py` and commit the result", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
