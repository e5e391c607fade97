"""The queries for a conversation: its latest message, with what that refers to, or rewritten.

"And the other one?" says little by itself. It is asked twice: alone, and together with the message
before it; the hits of both take turns. Each finds what the other misses: the short message is
seldom similar to anything, and with the answer before it, it is most similar to what that answer
has said already.

A function or a model can rewrite the query. Only the nodes do so: `recall` takes it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from langgraph_memory.messages import begins_turn, is_said, text_of
from langgraph_memory.models import REWRITING, ChatCaller, ChatModel, UnreadableAnswer, items_of
from langgraph_memory.records import Owner, Record
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.text import query_tokens
from langgraph_memory.twins import blocking, twins

R = TypeVar("R", bound=Record)

FEW_TERMS = 3
"""A message of so few different terms says little: 38 of 46 labelled follow-ups, and 7 % of
questions that stand alone. Lists of pronouns and connectives ("and", "那") found none besides that
came out better."""
CONTEXT_CHARACTERS = 500
"""How much of what was said before is asked, from its end: a long answer drowns the message."""


def queries_of(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what to recall for a conversation: its latest user message.

    If that says little, a second query has what was said before it, which is mostly an answer.
    """
    said = (message for message in reversed(messages) if is_said(message))
    asked = next(filter(begins_turn, said), None)
    if asked is None:
        return [""]
    query = text_of(asked)
    if len(set(query_tokens(query))) > FEW_TERMS or (before := next(said, None)) is None:
        return [query]
    return [query, f"{text_of(before)[-CONTEXT_CHARACTERS:]}\n{query}"]


def in_turn(recalls: Sequence[Recalled]) -> Recalled:
    """Return the answers to several queries as one: the best hit of each, then the second, ...

    Args:
        recalls: At least one; profile, recent messages and query are those of the first.
    """
    first = recalls[0]
    if len(recalls) == 1:
        return first
    hits = tuple(_each_once(recalled.hits for recalled in recalls))
    known = set(map(_name, hits))
    perhaps = _each_once(recalled.perhaps for recalled in recalls)
    return replace(
        first,
        hits=hits,
        perhaps=tuple(hit for hit in perhaps if _name(hit) not in known),
        episodes=tuple(_each_once(recalled.episodes for recalled in recalls)),
        lessons=tuple({(n.owner, n.id): n for r in recalls for n in r.lessons}.values()),
        nothing_known=all(recalled.nothing_known for recalled in recalls),
        empty=all(recalled.empty for recalled in recalls),
        exact=all(recalled.exact for recalled in recalls),
    )


def _each_once(ranked: Iterable[Sequence[Hit[R]]]) -> Iterator[Hit[R]]:
    """Yield the hits of several lists by turns, each record where it first comes."""
    seen = set()
    for hit in chain.from_iterable(zip_longest(*ranked)):
        if hit is not None and _name(hit) not in seen:
            seen.add(_name(hit))
            yield hit


def _name(hit: Hit) -> tuple[Owner, str]:
    return hit.record.owner, hit.record.id


Rewrite = Callable[[str], str | Sequence[str]]
"""From what the user said (after the answer before it, where it says little by itself) to what is
asked of the memory: a question or several."""

MAX_QUESTIONS = 3
"""Each is a search of its own."""


class Question(BaseModel):
    """A question that stands alone."""

    question: str


class Rewritten(BaseModel):
    """What to ask the memory."""

    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Rewriter:
    """What rewrites: a function or a chat model."""

    by: Rewrite | ChatCaller

    @classmethod
    def of(cls, given: Rewrite | ChatModel | str) -> Rewriter:
        """Return the rewriter for what `Memory(rewrite=...)` was given."""
        is_model = isinstance(given, str) or hasattr(given, "invoke")
        return cls(ChatCaller(given) if is_model else given)  # type: ignore[arg-type]  # told apart above

    async def _rewrite(self, query: str) -> list[str]:
        """Return what to ask instead of a query.

        Raises:
            ValueError: If that is nothing; a function may raise anything, a model `ModelError`.
        """
        if isinstance(self.by, ChatCaller):
            return (await self.by.ask(_request(query), Rewritten, _read, retries=0)).value
        return _checked(await blocking(self.by, query))

    rewrite, arewrite = twins(_rewrite)


def _request(query: str) -> list[BaseMessage]:
    return [SystemMessage(REWRITING), HumanMessage(query)]


def _read(answer: object) -> list[str]:
    items, _ = items_of(answer, "question")
    asked = [item.get("question") if isinstance(item, Mapping) else item for item in items]
    try:
        return _checked([each for each in asked if isinstance(each, str)])
    except ValueError as error:
        raise UnreadableAnswer(str(error)) from None


def _checked(asked: object) -> list[str]:
    questions = [asked] if isinstance(asked, str) else asked
    if not isinstance(questions, Sequence) or not all(isinstance(q, str) for q in questions):
        raise ValueError(f"a question or several were expected, got {asked!r}")
    asked_at_all = [question for question in questions if question.strip()]
    if not asked_at_all:
        raise ValueError("no question was left")
    return asked_at_all[:MAX_QUESTIONS]
