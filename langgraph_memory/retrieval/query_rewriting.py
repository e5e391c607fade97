"""What is asked of a memory in place of what the user said: a model or a function rewrites it.

Only the nodes rewrite: `recall` asks what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from langgraph_memory.models import REWRITING, ChatCaller, ChatModel, UnreadableAnswer, items_of
from langgraph_memory.twins import blocking, twins

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
