"""What to write instead of a name that is no metric of ours."""

from __future__ import annotations

import difflib
import re

from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN
from rankgate.metrics.plugins import knows_alone, words

# What other tools compute and rankgate does not, by patterns of their names, each with what to write instead.
ELSEWHERE: dict[str, str] = {
    r"delta": "the change from the baseline is what `regression_max` of a gate on the metric itself looks at, and what "
    "reranking adds is rerank_gain(ndcg@5)",
    r"gm_?map|g_?map|geometric_map": "values are means over the questions, and none is geometric; write map",
    r"iprec.*|11_?pt.*|interpolated_.*": "precision at levels of recall is not computed; write map, or precision@5",
    r"x?inf_?ap|x?inf_?ndcg": "nothing is inferred of unjudged documents; write map(judged_only=true), or bpref",
    r"alpha_?n?dcg|err_ia|nrbp": "the gold has no subtopics; write ndcg@10, and novelty@10 for what repeats",
}
# Further names of what a model judges.
JUDGED = r"(context|answer|response|semantic)_\w+|hallucination"

_SHORT = 3  # letters; words as short are each other's neighbours


def why_unknown(stem: str, cutoff: str | None) -> str:
    """What to write instead of the name with this stem, and why it is unknown where that is not plain."""
    instead = elsewhere(stem)
    if instead is not None:
        return instead
    at = f"@{cutoff.lower()}" if cutoff else ""
    if re.fullmatch(JUDGED, stem):
        what = f"a model judges it; write its numbers into `scores` of the run's lines and name it score({stem})"
    elif stem == "hits":  # ranx counts, others take it for the share
        what = f"some tools count relevant documents by it; write hit{at} for whether there is one, or precision{at}"
    else:
        meant = _meant(stem)
        what = f"did you mean {meant + at!r}?" if meant else "`rankgate metrics` lists them"
    if knows_alone():
        what += "; a metric of a package that no gate of the base uses counts once it is merged"
    return what


def elsewhere(stem: str) -> str | None:
    """What is near to a metric that other tools compute and rankgate does not; None for any other."""
    return next((instead for pattern, instead in ELSEWHERE.items() if re.fullmatch(pattern, stem)), None)


def _meant(stem: str) -> str | None:
    """What a word is mistyped from: nearly alike, its first letter and its digits the same: not `idcg`, not `mmr`."""
    digits = re.sub(r"\D", "", stem)
    known = [*words(), RERANK_GAIN, REWRITE_GAIN] if len(stem) > _SHORT else []
    candidates = [word for word in known if word[0] == stem[0] and re.sub(r"\D", "", word) == digits]
    swapped = [word for word in candidates if sorted(word) == sorted(stem)]
    return next(iter(swapped or difflib.get_close_matches(stem, candidates, 1, 0.87)), None)
