"""The maps of criteria files: which key or column holds what, in gold sets, runs and the answers of a retriever."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rankgate.criteria.parts import Listed, NotWritten, OneOrMore, Part, Text, optional, refuse
from rankgate.readers.field_map import FieldMap
from rankgate.readers.mapping import OF_ITEMS, OF_QUERIES

_RECORDS = "What holds the objects where the file is one JSON value: a list, or objects by name, which is their `key`."


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
