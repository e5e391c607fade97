"""What the memory tools do, whoever calls them: a graph's run, or a client over MCP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langchain_core.tools import ToolException

from langgraph_memory.errors import ConfigurationError, RecordNotFoundError
from langgraph_memory.graph import tool_texts
from langgraph_memory.graph.events import Tell
from langgraph_memory.memory import Memory
from langgraph_memory.notes import slot_of
from langgraph_memory.records import Change, Owner, Receipt, Record, RecordType
from langgraph_memory.retrieval import Quotas, Recalled
from langgraph_memory.store import ALL
from langgraph_memory.text import one_line
from langgraph_memory.twins import Either, twins

A = TypeVar("A", bound=tool_texts.ToolArguments)

PAGE = 20
"""Notes that `list_memories` shows at once."""

_OWN: tuple[RecordType, ...] = ("note", "message", "episode")
"""What can be forgotten one by one; a document is a part of its source."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: whose memory it is about, and how that is asked."""

    memory: Memory
    user: str
    owner: Owner
    """Whose records it writes, lists and deletes."""
    quotas: Quotas
    recall_args: Mapping[str, Any]
    """How `Memory.recall` is asked, but for the query."""
    source_ids: Sequence[str] = ()
    """The ids of the messages that a note comes from."""
    tell: Tell = lambda event, records, **more: None
    """Tells what was read or written."""

    @property
    def whose(self) -> dict[str, Any]:
        """The arguments by which a verb is about the owner's records."""
        more: dict[str, Any] = {} if self.owner.kind == "user" else {self.owner.kind: self.owner.id}
        return {"user": self.user, **more}

    def list(self, **which: Any) -> Either[Any]:
        """Return what lists all of the owner's records, of some types, with some words."""
        verb: Any = self.memory.list
        averb: Any = self.memory.alist
        return Either(verb, averb, limit=ALL, **which, **self.whose)

    def recall(self, query: str) -> Either[Recalled]:
        """Return what recalls for the tool."""
        return Either(self.memory.recall, self.memory.arecall, query, **self.recall_args)


class Verb(Generic[A]):
    """What one tool does."""

    name: str
    step: str
    """What is traced of it, as for the steps of a run."""
    asks: type[A]
    failed: str
    """What the model is told when the store fails."""
    writes: bool = False
    """Whether a memory that is only read does not have it."""

    async def act(self, call: Call, asked: A) -> str:
        """Return what the model reads of it; waits for `Either`s alone."""
        raise NotImplementedError

    async def _call(self, call: Call, asked: A) -> str:
        return await self.act(call, asked)

    call, acall = twins(_call)


class RememberAction(Verb[tool_texts.Remember]):
    name, step, failed = "remember", "save", tool_texts.NOT_SAVED
    writes = True
    asks: type[tool_texts.Remember] = tool_texts.Remember

    async def act(self, call: Call, asked: tool_texts.Remember) -> str:
        text, how = self._kept(call, asked)
        return self._told(
            call, await Either(call.memory.keep_proposed, call.memory.akeep_proposed, [text], **how)
        )

    def _kept(self, call: Call, asked: tool_texts.Remember) -> tuple[str, dict[str, Any]]:
        redact = call.memory.redact
        text = tool_texts.worth_saving(asked.text, redact)
        slot = slot_of(asked.slot, redact)
        how = {"kind": asked.kind, "slot": slot, "sources": call.source_ids, **call.whose}
        return text, how

    def _told(self, call: Call, changes: Sequence[Change]) -> str:
        if not changes:
            return tool_texts.NOTHING_NEW
        call.tell("memory.saved", [change.record for change in changes])
        return tool_texts.saved(changes[0])


class RecallAction(Verb[tool_texts.Recall]):
    name, step, failed = "recall", "recall", tool_texts.NOT_READ
    asks: type[tool_texts.Recall] = tool_texts.Recall

    async def act(self, call: Call, asked: tool_texts.Recall) -> str:
        found = await call.recall(asked.query)
        return _recalled(call, asked.query, found)


class ProfileAction(Verb[tool_texts.Profile]):
    name, step, failed = "profile", "recall", tool_texts.NOT_READ
    asks = tool_texts.Profile

    async def act(self, call: Call, asked: tool_texts.Profile) -> str:
        return _recalled(call, "", await call.recall(""))


def _recalled(call: Call, query: str, found: Recalled) -> str:
    told = tool_texts.recalled_text if query.strip() else tool_texts.profile
    text, records = told(found, call.owner, call.quotas)
    call.tell("memory.recalled", records, nothing_known=found.nothing_known)
    return text


class EditAction(Verb[tool_texts.Edit]):
    """Changes a note, unless the caller's own rules decide what a model may save."""

    name, step, failed = "edit", "save", tool_texts.NOT_CHANGED
    writes = True
    asks = tool_texts.Edit

    async def act(self, call: Call, asked: tool_texts.Edit) -> str:
        changes = self._changes(call, asked)
        notes = await call.list()
        note = tool_texts.named(asked.id, notes, "changed")
        with _explained(asked.id):
            return self._told(
                call,
                await Either(call.memory.edit, call.memory.aedit, note.id, **changes, **call.whose),
            )

    def _changes(self, call: Call, asked: tool_texts.Edit) -> dict[str, Any]:
        rules, redact = call.memory.extracting, call.memory.redact
        if rules.review or rules.accept is not None:
            raise ToolException(tool_texts.TO_BE_LOOKED_AT)
        text = None if asked.text is None else tool_texts.worth_saving(asked.text, redact)
        given = {"text": text, "kind": asked.kind}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise ToolException(tool_texts.NOTHING_TO_CHANGE)
        return changes

    def _told(self, call: Call, change: Change) -> str:
        call.tell("memory.saved", [change.record])
        return tool_texts.edited_text(change)


@contextmanager
def _explained(id: str) -> Iterator[None]:
    """Tell a model why its edit was refused."""
    try:
        yield
    except RecordNotFoundError as error:  # another call was first
        raise ToolException(tool_texts.not_found(id, "changed")) from error
    except ConfigurationError as error:  # another note says it
        raise ToolException(f"Nothing was changed: {one_line(str(error))}") from error


class ForgetAction(Verb[tool_texts.Forget]):
    name, step, failed = "forget", "forget", tool_texts.NOT_DELETED
    writes = True
    asks = tool_texts.Forget

    async def act(self, call: Call, asked: tool_texts.Forget) -> str:
        records = await call.list(types=_OWN)
        record = tool_texts.named(asked.id, records)
        receipt = await Either(
            call.memory.forget, call.memory.aforget, record.id, sources=asked.sources, **call.whose
        )
        return self._told(call, record, records, receipt)

    def _told(self, call: Call, record: Record, records: Sequence[Record], receipt: Receipt) -> str:
        if record.id not in receipt.ids:  # another call was first
            raise ToolException(tool_texts.not_found(record.id))
        others = [each for each in records if each.id in receipt.ids and each.id != record.id]
        return tool_texts.forgotten_text([record, *others], receipt.also, call.memory.zone)


class ListAction(Verb[tool_texts.List]):
    name, step, failed = "list_memories", "list", tool_texts.NOT_READ
    asks = tool_texts.List

    async def act(self, call: Call, asked: tool_texts.List) -> str:
        found = await call.list(contains=asked.contains)
        return tool_texts.listed_text(found, asked.page, PAGE, call.memory.zone)
