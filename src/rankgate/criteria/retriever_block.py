"""The `retriever:` block of a criteria file: what `rankgate record` asks, and how it reads the answers."""

import hashlib
import json
import re
import shlex
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from rankgate.criteria.maps import AnswerMap
from rankgate.criteria.parts import Listed, NotWritten, OneOrMore, Part, ReadAs, Text, optional, refuse, validated
from rankgate.errors import RankgateError, bad_input, did_you_mean
from rankgate.readers.field_map import FieldMap
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
