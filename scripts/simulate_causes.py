"""How often "look here first" names the right cause: breakages made on purpose, and what `check` says of each.

    python scripts/simulate_causes.py [--seeds N] [--sizes N,N]

Retrieves with a small BM25 over the embedded example, breaks one thing, and lets rankgate compare. A cause is right
where it is one that the breakage is labelled with, wrong where it is any other, and absent where none is named. Prints
scripts/tables/causes.md, from fixed seeds.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from msgspec.structs import replace

import rankgate
from make_example import EXAMPLE, bm25, read_articles
from rankgate.diagnosis.findings import COUNTS, KNOWN, NO_RESULTS
from rankgate.errors import ProblemKind, RankgateError
from rankgate.model.values import Sample
from rankgate.readers.formats import read_gold

SIZES = (20, 100, 300)
SEEDS = 3
RAW, DEPTH = 50, 20
LEAST_TAGGED, MAX_TAGGED = 0.1, 0.5  # of the questions
SKIPPED = 0.25  # of each list
FACTS = ("", KNOWN, NO_RESULTS, COUNTS)  # what says no cause, unless it names a tag
WORD = re.compile(r"[^\W_]{2,}")

Lists = dict[str, list[str]]
Docs = Mapping[str, str]


class World(NamedTuple):
    """Documents, a gold set, and what the search returned before anything broke."""

    docs: Docs
    questions: Sequence[Sample]
    before: Lists
    rng: random.Random

    @property
    def texts(self) -> dict[str, str]:
        """The questions' texts."""
        return texts_of(self.questions)


class Broken(NamedTuple):
    """What is compared: lists by question, and of either run what else a line states (`raw_topk`, `latency_ms`)."""

    now: Lists
    before: Lists | None = None
    stated: Mapping[str, Mapping[str, Any]] = {}
    stated_before: Mapping[str, Mapping[str, Any]] = {}
    docs_as_chunks: bool = False


class Breakage(NamedTuple):
    """A fault, the causes that name it, and how it is made; without causes there is none that could."""

    name: str
    right: tuple[str, ...]
    make: Callable[[World], Lists | Broken]


def terms(text: str) -> list[str]:
    """Lower-case words of two characters or more."""
    return WORD.findall(text.lower())


def search(
    docs: Docs, questions: Mapping[str, str], depth: int = DEPTH, analyse: Callable[[str], list[str]] = terms
) -> Lists:
    """BM25 (k1 1.2, b 0.75), documents without a common term left out, ties by id."""
    corpus = {doc: analyse(text) for doc, text in docs.items()}
    found = bm25(corpus, map(analyse, questions.values()), k1=1.2, digits=9)
    return {query: [doc for doc, _ in results[:depth]] for query, results in zip(questions, found, strict=True)}


def trigrams(text: str) -> list[str]:
    """Another representation altogether: what another embedding model does to a search."""
    return [word[at : at + 3] for word in terms(text) for at in range(max(1, len(word) - 2))]


def texts_of(questions: Iterable[Sample]) -> dict[str, str]:
    """By question."""
    return {each.query_id: each.question or "" for each in questions}


def some(world: World, share: float, ids: Iterable[str] | None = None) -> set[str]:
    """A random part of some ids, by default of the documents."""
    known = sorted(world.docs if ids is None else ids)
    return set(world.rng.sample(known, max(1, round(share * len(known)))))


def tagged(world: World) -> set[str]:
    """The questions with a tag that a tenth to a half of all have; the commonest such."""
    counts = Counter(tag for each in world.questions for tag in each.tags)
    fitting = [tag for tag, count in counts.most_common() if LEAST_TAGGED <= count / len(world.questions) <= MAX_TAGGED]
    return {each.query_id for each in world.questions if fitting and fitting[0] in each.tags}


def without(world: World, gone: set[str]) -> Lists:
    """The search over an index that lacks documents."""
    return search({doc: text for doc, text in world.docs.items() if doc not in gone}, world.texts)


def each_list(world: World, change: Callable[[list[str]], list[str]], only: set[str] | None = None) -> Lists:
    """The lists, changed one by one."""
    return {query: change(list(ids)) if only is None or query in only else ids for query, ids in world.before.items()}


def renamed(world: World, share: float, name: Callable[[str], str]) -> Lists:
    """A part of the documents has other ids."""
    gone = some(world, share)
    return each_list(world, lambda ids: [name(doc) if doc in gone else doc for doc in ids])


def chunked(world: World, size: int, name: str = "{doc}#{number}") -> dict[str, str]:
    """Documents cut into pieces of so many words."""
    pieces: dict[str, str] = {}
    for doc, text in world.docs.items():
        words = text.split()
        for number, at in enumerate(range(0, max(1, len(words)), size)):
            pieces[name.format(doc=doc, number=number, at=at)] = " ".join(words[at : at + size])
    return pieces


def rechunked(world: World, name: str) -> Broken:
    """The search over other chunks; a third of the documents is cut anew, under ids by `name`."""
    anew = some(world, 0.35)
    before = chunked(world, 40)
    other = {chunk: text for chunk, text in chunked(world, 30, name).items() if chunk.partition("#")[0] in anew}
    now = {chunk: text for chunk, text in before.items() if chunk.partition("#")[0] not in anew} | other
    return Broken(search(now, world.texts), search(before, world.texts), docs_as_chunks=True)


def reranked(world: World, *, good: bool, docs: Docs | None = None) -> Broken:
    """A reranker by trigrams over the first results, which fails or not; both runs state the list before it."""
    raw_before = search(world.docs, world.texts, RAW)
    raw_now = search(docs, world.texts, RAW) if docs else raw_before
    by_trigrams = search(world.docs, world.texts, 10**6, trigrams)

    def order(raw: Lists, query: str) -> list[str]:
        place = {doc: rank for rank, doc in enumerate(by_trigrams[query])}
        return sorted(raw[query], key=lambda doc: place.get(doc, 10**6) / 3 + raw[query].index(doc))[:10]

    before = {query: order(raw_before, query) for query in raw_before}
    now = {
        query: order(raw_now, query) if good else world.rng.sample(raw_now[query], len(raw_now[query]))[:10]
        for query in raw_now
    }
    stated = {query: {"raw_topk": ids} for query, ids in raw_now.items()}
    return Broken(now, before, stated, {query: {"raw_topk": ids} for query, ids in raw_before.items()})


def timed(world: World, rerank: float, retrieve: float = 1.0) -> Broken:
    """The same lists, slower."""
    times = {query: (world.rng.lognormvariate(3, 0.3), world.rng.lognormvariate(4, 0.3)) for query in world.before}
    runs = [
        {query: {"latency_ms": {"retrieve": a * slow_a, "rerank": b * slow_b}} for query, (a, b) in times.items()}
        for slow_a, slow_b in ((retrieve, rerank), (1.0, 1.0))
    ]
    return Broken(world.before, None, runs[0], runs[1])


def swapped(world: World) -> Lists:
    """Each list is that of the next question."""
    queries = list(world.before)
    return {query: world.before[other] for query, other in zip(queries, [*queries[1:], queries[0]], strict=True)}


def permuted(world: World) -> Lists:
    """Documents have each other's ids."""
    part = sorted(some(world, 0.4))
    other = dict(zip(part, [*part[1:], part[0]], strict=True))
    return each_list(world, lambda ids: [other.get(doc, doc) for doc in ids])


def shuffled(world: World, first: int) -> Callable[[list[str]], list[str]]:
    """The first results in random order."""
    return lambda ids: [*world.rng.sample(ids[:first], len(ids[:first])), *ids[first:]]


def noisy(world: World, spread: float) -> Callable[[list[str]], list[str]]:
    """Neighbours change places."""
    return lambda ids: [
        doc for _, doc in sorted((rank + world.rng.gauss(0, spread), doc) for rank, doc in enumerate(ids))
    ]


def copied(world: World, share: float) -> Lists:
    """A part of the documents is indexed three times."""
    twice = some(world, share)
    docs = dict(world.docs) | {f"{doc}~{n}": world.docs[doc] for doc in twice for n in (1, 2)}
    return search(docs, world.texts)


def advertised(world: World) -> Lists:
    """New documents that say everything."""
    words = sorted({word for text in world.texts.values() for word in terms(text)})
    spam = {f"new-{n}": " ".join(world.rng.sample(words, min(len(words), 60))) for n in range(len(world.docs) // 2)}
    return search({**world.docs, **spam}, world.texts)


def asked(world: World, change: Callable[[str], str], only: set[str] | None = None) -> Lists:
    """The search with rewritten questions."""
    return search(
        world.docs, {q: change(text) if only is None or q in only else text for q, text in world.texts.items()}
    )


def cut(world: World, words: int) -> Lists:
    """The index has only the first words of each document."""
    return search({doc: " ".join(text.split()[:words]) for doc, text in world.docs.items()}, world.texts)


def by_tag(world: World, other: Lists) -> Lists:
    """Another search for the questions with a tag alone."""
    return {**world.before, **{query: other[query] for query in tagged(world)}}


def skipping(world: World) -> Lists:
    """Each search misses some documents, as an approximate index with too little effort does."""
    wide = search(world.docs, world.texts, 2 * DEPTH)
    return {query: [doc for doc in ids if world.rng.random() > SKIPPED][:DEPTH] for query, ids in wide.items()}


def filtered(world: World) -> Lists:
    """A filter that should not be there hides a random third of the documents from half of the questions."""
    hidden, whose = some(world, 0.35), some(world, 0.5, world.before)
    other = without(world, hidden)
    return {query: other[query] if query in whose else ids for query, ids in world.before.items()}


def one_shard(world: World) -> set[str]:
    """Every fourth document."""
    return set(sorted(world.docs)[::4])


BREAKAGES = (
    Breakage("nothing changed", (), lambda w: w.before),
    Breakage("noise: neighbours change places", ("order",), lambda w: each_list(w, noisy(w, 1.5))),
    Breakage("index lost a fifth of the documents", ("dropped",), lambda w: without(w, some(w, 0.2))),
    Breakage("one shard of four is missing", ("dropped",), lambda w: without(w, one_shard(w))),
    Breakage("approximate search skips documents", ("dropped",), skipping),
    Breakage("a filter hides documents", ("dropped",), filtered),
    Breakage(
        "ids of a third of the documents have a prefix", ("stale_ids",), lambda w: renamed(w, 0.35, "v2/{}".format)
    ),
    Breakage(
        "ids of a third in another case", ("stale_ids",), lambda w: renamed(w, 0.35, lambda doc: f"{doc.swapcase()}!")
    ),
    Breakage("all ids new", ("stale_ids",), lambda w: renamed(w, 1.0, "v2/{}".format)),
    Breakage("documents have each other's ids", (), permuted),
    Breakage("a third cut into other chunks, new ids", ("stale_ids",), lambda w: rechunked(w, "{doc}#w{at}")),
    Breakage("a third cut into other chunks, same ids", (), lambda w: rechunked(w, "{doc}#{number}")),
    Breakage("documents indexed three times", ("added",), lambda w: copied(w, 0.6)),
    Breakage("new documents that say everything", ("added",), advertised),
    Breakage("k of 2 in place of 20", ("shorter",), lambda w: each_list(w, lambda ids: ids[:2])),
    Breakage("time-outs cut lists", ("shorter",), lambda w: each_list(w, lambda ids: ids[: w.rng.randint(1, 6)])),
    Breakage("no results for a third", ("no_results",), lambda w: each_list(w, lambda _: [], some(w, 0.3, w.before))),
    Breakage("no results for one tag", ("no_results", "one_tag"), lambda w: each_list(w, lambda _: [], tagged(w))),
    Breakage(
        "a third of the questions is absent",
        ("no_results",),
        lambda w: {query: w.before[query] for query in sorted(some(w, 0.7, w.before))},
    ),
    Breakage("the first ten in random order", ("order",), lambda w: each_list(w, shuffled(w, 10))),
    Breakage("lists in reverse order", ("order",), lambda w: each_list(w, lambda ids: ids[::-1])),
    Breakage("lists sorted by id", ("order",), lambda w: each_list(w, sorted)),
    Breakage("reranker broken, raw lists in the file", ("reranker",), lambda w: reranked(w, good=False)),
    Breakage(
        "index cut under a reranker, raw lists in the file",
        (),
        lambda w: reranked(w, good=True, docs={d: " ".join(t.split()[:8]) for d, t in w.docs.items()}),
    ),
    Breakage(
        "index lost a third under a reranker, raw lists in the file",
        ("dropped",),
        lambda w: reranked(w, good=True, docs={d: w.docs[d] for d in sorted(some(w, 0.65))}),
    ),
    Breakage("each list is another question's", ("mixed_up",), swapped),
    Breakage("documents cut to 8 words", (), lambda w: cut(w, 8)),
    Breakage("documents cut to 20 words", (), lambda w: cut(w, 20)),
    Breakage("questions cut to three words", (), lambda w: asked(w, lambda text: " ".join(text.split()[:3]))),
    Breakage(
        "an English prefix in front of each question",
        ("one_tag",),
        lambda w: asked(w, lambda text: f"what are the documents for the question about: {text} " * 2),
    ),
    Breakage(
        "half of the questions with their letters reversed",
        (),
        lambda w: search(w.docs, {q: text[::-1] for q, text in w.texts.items()} | dict(list(w.texts.items())[::2])),
    ),
    Breakage("another retriever", (), lambda w: search(w.docs, w.texts, DEPTH, trigrams)),
    Breakage(
        "another retriever, a little worse",
        (),
        lambda w: search(w.docs, {q: t[: len(t) * 2 // 3] for q, t in w.texts.items()}, DEPTH, trigrams),
    ),
    Breakage(
        "wrong analyser for one tag",
        ("one_tag",),
        lambda w: by_tag(w, asked(w, lambda text: re.sub("[aeiou]", "", text))),
    ),
    Breakage(
        "questions of one tag cut to two words",
        ("one_tag",),
        lambda w: by_tag(w, asked(w, lambda text: " ".join(text.split()[:2]))),
    ),
    Breakage("reranking twice as slow", ("latency_stage",), lambda w: timed(w, 2.0)),
    Breakage("both stages twice as slow", (), lambda w: timed(w, 1.6, 3.0)),
)


def example_world() -> tuple[Docs, list[Sample]]:
    """The embedded example."""
    docs = {each.id: f"{each.title} {each.text}" for each in read_articles(EXAMPLE / "articles.jsonl")}
    samples = read_gold(str(EXAMPLE / "gold.yaml")).samples.values()
    return docs, [sample for sample in samples if sample.relevant()]


def drawn(questions: Sequence[Sample], size: int, rng: random.Random) -> list[Sample]:
    """So many questions; where there are fewer, some come again with a word left out."""
    found = rng.sample(questions, min(size, len(questions)))
    while len(found) < size:
        each = rng.choice(questions)
        words = (each.question or "").split()
        left = [word for place, word in enumerate(words) if place != rng.randrange(len(words))]
        found.append(replace(each, query_id=f"{each.query_id}-{len(found)}", question=" ".join(left) or each.question))
    return found


def best_chunks(question: Sample, before: Lists) -> list[str]:
    """The chunk of each relevant document that the search which worked has highest."""
    best: dict[str, str] = {}
    for chunk in before[question.query_id]:
        best.setdefault(chunk.partition("#")[0], chunk)
    return [best[doc] for doc in question.relevant() if doc in best]


def first_cause(world: World, broken: Broken) -> str | None:
    """The rule that `check` names first, or nothing; None where no gate is violated."""
    before = world.before if broken.before is None else broken.before
    gold = [
        {"id": each.query_id, "expected_output": expected, "metadata": {"tags": list(each.tags)}}
        for each in world.questions
        if (expected := best_chunks(each, before) if broken.docs_as_chunks else each.relevant())
    ]
    gates = [("recall@5", 0.03, "error"), ("mrr", 0.03, "warning")]
    gates += [("latency", 5.0, "error")] if "latency_ms" in next(iter(broken.stated.values()), {}) else []
    criteria = {"gates": [{"name": name, "regression_max": most, "severity": how} for name, most, how in gates]}
    run, baseline = (
        [{"query_id": query, "topk": ids, **stated.get(query, {})} for query, ids in lists.items()]
        for lists, stated in ((broken.now, broken.stated), (before, broken.stated_before))
    )
    try:
        report = rankgate.check(gold, run, baseline=baseline, criteria=criteria, date="2026-01-31")
    except RankgateError as error:
        if any(problem.kind is ProblemKind.GOLD_STALE for problem in error.problems):
            return "stale_ids"
        raise
    if not report.explanation.diagnosis:
        return None if all(gate.verdict.value == "pass" for gate in report.gates) else ""
    first = report.explanation.diagnosis[0]
    names_tag = first.rule != COUNTS and "tag" in first.evidence  # counts name one whatever the chance
    return "one_tag" if first.rule in FACTS and names_tag else first.rule


def outcomes(
    docs: Docs, questions: Sequence[Sample], sizes: Iterable[int], seeds: int
) -> Iterator[tuple[str, int, str]]:
    """Breakage, size and outcome: right, wrong (with the cause), absent or no drop."""
    for size, seed in product(sizes, range(seeds)):
        chosen = drawn(questions, size, random.Random(f"{size} {seed}"))  # noqa: S311 -- seeds, not secrets
        before = search(docs, texts_of(chosen))
        for breakage in BREAKAGES:
            own = random.Random(f"{size} {seed} {breakage.name}")  # noqa: S311 -- as above
            world = World(docs, chosen, before, own)
            made = breakage.make(world)
            cause = first_cause(world, made if isinstance(made, Broken) else Broken(made))
            yield breakage.name, size, outcome_of(cause, breakage.right)


def outcome_of(cause: str | None, right: Sequence[str]) -> str:
    """How the first cause compares with the label."""
    if cause is None:
        return "no drop"
    return "right" if cause in right else "absent" if cause in FACTS else f"wrong: {cause}"


def table(found: Iterable[tuple[str, int, str]]) -> str:
    """A row a breakage, and all of them together."""
    counts: dict[str, Counter[str]] = {breakage.name: Counter() for breakage in BREAKAGES}
    for name, _, outcome in found:
        counts[name][outcome.partition(":")[0]] += 1
    labels = {breakage.name: ", ".join(f"`{rule}`" for rule in breakage.right) or "–" for breakage in BREAKAGES}
    total = sum(counts.values(), Counter[str]())
    kinds = ("right", "absent", "wrong", "no drop")
    lines = ["| Breakage | Right cause | Right | Absent | Wrong | No drop |", "|:--|:--|--:|--:|--:|--:|"]
    lines += [
        f"| {name} | {labels[name]} | {' | '.join(str(row[kind]) for kind in kinds)} |" for name, row in counts.items()
    ]
    lines.append(f"| **together** | | {' | '.join(f'**{total[kind]}**' for kind in kinds)} |")
    dropped = total["right"] + total["absent"] + total["wrong"]
    share = 100 * total["wrong"] / max(1, dropped)
    return "\n".join([*lines, "", f"Wrong: {total['wrong']} of {dropped} drops ({share:.1f} %)."])


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often the first cause is right.")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"samples of each size (default: {SEEDS})")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="questions, separated by commas")
    parser.add_argument("--each", action="store_true", help="print what was wrong, one line each")
    options = parser.parse_args(argv)
    docs, questions = example_world()
    found = list(outcomes(docs, questions, [int(size) for size in options.sizes.split(",")], options.seeds))
    print(table(found))
    if options.each:
        wrong = Counter(each for each in found if each[2].startswith("wrong"))
        for (name, size, outcome), count in sorted(wrong.items()):
            print(f"{count} × {name}, {size}: {outcome}")


if __name__ == "__main__":
    main()
