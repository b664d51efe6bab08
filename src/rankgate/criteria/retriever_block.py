"""The `retriever:` block of a criteria file, what `rankgate record` asks, and the maps: which key or column holds what.

There is a map for a gold set, for a run, and for the answers of a retriever.
"""

import hashlib
import json
import re
import shlex
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from rankgate.criteria.parts import Listed, NotWritten, OneOrMore, Part, ReadAs, Text, optional, refuse, validated
from rankgate.errors import RankgateError, bad_input, did_you_mean
from rankgate.readers.field_map import FieldMap
from rankgate.readers.mapping import OF_ITEMS, OF_QUERIES
from rankgate.readers.yaml_text import YamlDocument

KINDS = ("function", "url", "command")
MAX_CALLS = 256  # at once; more is a slip of the finger
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
VARIABLE = re.compile(r"(?:([A-Za-z][\w-]*) )?\$\{([A-Za-z_]\w*)\}", re.ASCII)
_FILLED = ("question", "query_id")
_ADDRESS = re.compile(
    r"https?://([^][\s\\@/?#{}:]+|\[[\da-fA-F:.]+])(:\d{1,5})?(/([^\s\\@?#{%]|%(?=[\dA-Fa-f]{2}))*)?(\?([^#%]|%(?=[\dA-Fa-f]{2}))*)?"
)
_NAME = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)
_SET_HERE = {"accept-encoding", "connection", "content-length", "content-type", "transfer-encoding"}
_RECORDS = "What holds the objects where the file is one JSON value: a list, or objects by name, which is their `key`."


def _address(url: str) -> str:
    if not _ADDRESS.fullmatch(url):
        example = "https://host/search, with {{question}} after a ?, no user, and a % as %25"
        refuse([((), f"is no address such as {example}")])
    if re.search(r"\$\{\w", url):
        refuse([((), "a variable is filled into headers alone: an address stands in logs")])
    return url


def _words(command: str) -> str:
    words: list[str] = []
    try:
        words = shlex.split(command)
    except ValueError as error:
        refuse([((), f"the command cannot be split into words: {str(error).lower()}")])
    if not words:
        refuse([((), "the command is empty")])
    if {"|", "||", "&&", ";", "<", ">"} & {*words}:
        refuse([((), "no shell runs the command, for pipes and the like; put them into a script")])
    return command


def _headers(headers: dict[str, str]) -> dict[str, str]:
    names = [name.lower() for name in headers]
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _SET_HERE or names.count(name.lower()) > 1:
            refuse([((name,), "is no header in ASCII, or set twice or by rankgate")])
        if not VARIABLE.fullmatch(value):
            advice = f"set a variable of the environment and write {name}: ${{NAME}}, or {name}: Bearer ${{NAME}}"
            refuse([((name,), f"is written out, and would stand in the repository; {advice}")])
    return headers


class GoldMap(Part):
    """Names of keys or columns, as the file writes them; dots, as in _source.id, reach into nested objects."""

    query_id: Text = Field(description="The query's id, or its text where it has none.")
    records: Text | None = optional(_RECORDS)
    question: Text | None = optional("The query's text.")
    items: Text | None = optional("The documents of a query: ids, objects, or gains by id. Absent: a judgment a row.")
    chunk_id: Text | None = optional("A document's id. May be absent where the entries of `items` are bare ids.")
    gain: Text | None = optional("How relevant it is, as a number. Absent: what is listed is relevant.")
    tags: Annotated[Listed[str], OneOrMore(str)] = optional(
        "What becomes tags: Sprache with es is sprache:es. Columns called lang, category and the like do anyway.",
        (),
    )

    @model_validator(mode="after")
    def _can_be_read_by(self) -> Self:
        if self.items is None and self.chunk_id is None:
            refuse([(("chunk_id",), "is missing: without `items` each row is one judgment, and this is its document")])
        return self


class RunMap(Part):
    """Names of keys or columns, as the file writes them; dots, as in _source.id, reach into nested objects."""

    query_id: Text = Field(description="The query's id.")
    records: Text | None = optional(_RECORDS)
    items: Text | None = optional(
        "The list of results of a query, best first. Absent: each line or row is one result, and "
        "`score` or `rank` orders them."
    )
    chunk_id: Text | None = optional("A result's id. May be absent where the entries of `items` are bare ids.")
    score: Text | None = optional("A result's score, higher is better; it orders rows, not a list that has an order.")
    order: Literal["ascending", "descending"] | None = optional(
        "Which score is best: the highest (descending, the default), or the lowest, as of distances."
    )
    rank: Text | None = optional("A result's rank, 1 to n without gaps.")
    text: Text | None = optional("A result's text.")
    doc_id: Text | None = optional("The document that a result is a part of.")
    doc_version: Text | None = optional("The day of the document's version, ISO 8601.")
    start: Text | None = optional("For `match: span`: where a result begins in its document's text, from 0.")
    end: Text | None = optional("For `match: span`: where it ends. Absent: `start` and the length of the text.")
    latency_ms: Text | None = optional("Milliseconds that the query took: a number, or an object of stages.")
    answer: Text | None = optional("The answer that was generated; needs `items`.")
    citations: Text | None = optional("The ids that the answer cites; needs `items`.")
    context: Text | None = optional(
        "The ids of what the prompt held, in its order; needs `items`. Absent: the first results."
    )
    context_texts: Text | None = optional(
        "What the prompt held of an id, by id, where no result has that text; needs `items`."
    )
    abstained: Text | None = optional("Whether the generator declined to answer, true or false; needs `items`.")

    @model_validator(mode="after")
    def _can_be_read_by(self) -> Self:
        problem = FieldMap(**self.__dict__).problem()
        if problem:
            refuse([((problem[0],), problem[1])])
        return self


class AnswerMap(RunMap):
    """Names of keys in an answer, as it writes them; dots reach into objects, and a number into a list, from 0."""

    query_id: NotWritten[str] = ""
    records: NotWritten[None] = None
    items: Text | None = optional(
        "The list of results, best first. Absent: the answer is that list, or has it as `topk`."
    )

    @model_validator(mode="after")
    def _can_be_read_by(self) -> Self:
        if self.order is not None and self.score is None:
            refuse([(("order",), "says which score is best, and the map names no `score`")])
        lone = next((key for key in OF_ITEMS if getattr(self, key)), None)
        if lone and self.chunk_id is None:
            refuse([((lone,), "is of a result, whose id the map does not name; add `chunk_id`")])
        beside = next((key for key in OF_QUERIES if getattr(self, key)), None)
        if beside and self.items is None:
            refuse([((beside,), "stands beside the list of results; name that, too: `items`")])
        return self


class Retriever(Part):
    """What is asked each gold question: exactly one of `function`, `url` and `command`."""

    function: Text | None = optional(
        "module:function, or an object of LangChain, LlamaIndex or Haystack; the current directory is looked in first."
    )
    url: Annotated[str, AfterValidator(_address)] | None = optional(
        "Address that answers in JSON; {{question}} and {{query_id}} are filled in after its `?`."
    )
    command: Annotated[Text, AfterValidator(_words)] | None = optional(
        "Command that is run for each question, without a shell: a line of JSON (query_id, question) in, JSON out."
    )
    method: Literal["GET", "POST"] | None = optional("Of `url`; POST with a `body`, else GET.")
    body: Annotated[dict[str, Any], WithJsonSchema({"type": "object"})] | None = optional(
        "What `url` gets, as JSON; {{question}} and {{query_id}} are filled into its texts."
    )
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = optional(
        "What `url` gets too: ${NAME} of the environment, after a word such as Bearer where the server wants one.", {}
    )
    map: Annotated[FieldMap, ReadAs(AnswerMap)] | None = optional(
        "What holds what in an answer; absent where it has rankgate's own shape."
    )
    files: Annotated[Listed[str], OneOrMore(str)] = optional(
        "Files of the repository, from its root, that make the answers what they are: folders, names, patterns, and "
        "after ! what is none. Absent: what a function imports; else all but gold set, baseline, criteria and waivers.",
        (),
    )
    timeout: Annotated[float, Field(gt=0, le=86_400)] | None = optional(
        "Seconds of a call, which then failed; 60 where absent, for a function none."
    )
    retries: int = optional("How often a call that failed is repeated.", 0, ge=0)
    workers: int = optional("Calls at once.", 1, ge=1, le=MAX_CALLS)

    line: NotWritten[int | None] = None

    @model_validator(mode="after")
    def _asks_one(self) -> Self:
        named = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(named) != 1:
            refuse([((named[-1],) if named else (), f"exactly one of {', '.join(KINDS)} is asked; name one")])
        of_url = next((key for key in ("method", "body", "headers") if getattr(self, key)), None)
        if self.url is None and of_url:
            refuse([((of_url,), "belongs to `url`")])
        names = {name.strip() for name in PLACEHOLDER.findall(f"{self.url} {json.dumps(self.body)}")}
        for name in sorted(names - {*_FILLED}):
            hint = did_you_mean(name, _FILLED) or "; there are {{question}} and {{query_id}}"
            refuse([(("url",), f"nothing is filled in for {{{{{name}}}}}, here or in `body`{hint}")])
        if self.url and "question" not in names:
            needed = 'give it a parameter with that, or the block of the criteria a body: {query: "{{question}}"}'
            refuse([(("url",), f"has no {{{{question}}}}, nor has a `body`: all would get one answer; {needed}")])
        return self

    @property
    def digest(self) -> str:
        """Twelve digits of what is asked and how answers are read, without the values of variables."""
        kept = self.model_dump(mode="json", include={*KINDS, "method", "body", "headers"}, exclude_defaults=True)
        fields = msgspec.structs.asdict(self.map) if self.map else {}
        return hashlib.sha256(json.dumps([kept, fields], sort_keys=True).encode()).hexdigest()[:12]


def retriever_named(kind: str, value: str) -> Retriever:
    """The retriever that an option names, in place of the block; an error names the option."""
    try:
        return validated(YamlDocument({kind: value}, {}), Retriever, "", "", ())
    except RankgateError as error:
        raise bad_input(error.problems[0].message, key="--retriever" if kind == "function" else f"--{kind}") from error
