"""What the memory tools do, whoever calls them: a graph's run, or a client over MCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langchain_core.tools import ToolException

from langgraph_memory import tool_texts
from langgraph_memory.events import Tell
from langgraph_memory.extraction import slot_of
from langgraph_memory.listing import own_text, saying
from langgraph_memory.memory import Memory
from langgraph_memory.operations import ALL
from langgraph_memory.ranking import Quotas
from langgraph_memory.records import Change, Recalled, Record
from langgraph_memory.scope import Owner, RecordType

A = TypeVar("A", bound=tool_texts.Asked)

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


class Verb(Generic[A]):
    """What one tool does: `call` and `acall` differ by `await` alone."""

    name: str
    step: str
    """What is traced of it, as for the steps of a run."""
    asks: type[A]
    failed: str
    """What the model is told when the store fails."""
    writes: bool = False
    """Whether a memory that is only read does not have it."""

    def call(self, call: Call, asked: A) -> str:
        raise NotImplementedError

    async def acall(self, call: Call, asked: A) -> str:
        raise NotImplementedError


class Remember(Verb[tool_texts.Remember]):
    name, step, failed = "remember", "save", tool_texts.NOT_SAVED
    writes = True
    asks: type[tool_texts.Remember] = tool_texts.Remember

    def call(self, call: Call, asked: tool_texts.Remember) -> str:
        text, how = self._kept(call, asked)
        return self._told(call, call.memory.keep_proposed([text], **how))

    async def acall(self, call: Call, asked: tool_texts.Remember) -> str:
        text, how = self._kept(call, asked)
        return self._told(call, await call.memory.akeep_proposed([text], **how))

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


class Recall(Verb[tool_texts.Recall]):
    name, step, failed = "recall", "recall", tool_texts.NOT_READ
    asks = tool_texts.Recall

    def call(self, call: Call, asked: tool_texts.Recall) -> str:
        found = call.memory.recall(asked.query, **call.recall_args)
        return self._told(call, found)

    async def acall(self, call: Call, asked: tool_texts.Recall) -> str:
        found = await call.memory.arecall(asked.query, **call.recall_args)
        return self._told(call, found)

    def _told(self, call: Call, found: Recalled) -> str:
        text, records = tool_texts.recalled(found, call.owner, call.quotas)
        call.tell("memory.recalled", records, nothing_known=found.nothing_known)
        return text


class Forget(Verb[tool_texts.Forget]):
    name, step, failed = "forget", "forget", tool_texts.NOT_DELETED
    writes = True
    asks = tool_texts.Forget

    def call(self, call: Call, asked: tool_texts.Forget) -> str:
        records = call.memory.list(types=_OWN, limit=ALL, **call.whose)
        record = tool_texts.named(asked.id, records)
        return self._told(record, records, call.memory.forget(record.id, **call.whose).ids)

    async def acall(self, call: Call, asked: tool_texts.Forget) -> str:
        records = await call.memory.alist(types=_OWN, limit=ALL, **call.whose)
        record = tool_texts.named(asked.id, records)
        receipt = await call.memory.aforget(record.id, **call.whose)
        return self._told(record, records, receipt.ids)

    def _told(self, record: Record, records: Sequence[Record], gone: Sequence[str]) -> str:
        if record.id not in gone:  # another call was first
            raise ToolException(tool_texts.not_found(record.id))
        left = [record for record in records if record.id not in gone]
        return tool_texts.forgotten(record, saying(own_text(record), left))


class List(Verb[tool_texts.List]):
    name, step, failed = "list_memories", "list", tool_texts.NOT_READ
    asks = tool_texts.List

    def call(self, call: Call, asked: tool_texts.List) -> str:
        found = call.memory.list(contains=asked.contains, limit=ALL, **call.whose)
        return tool_texts.listed(found, asked.page, PAGE, call.memory.zone)

    async def acall(self, call: Call, asked: tool_texts.List) -> str:
        found = await call.memory.alist(contains=asked.contains, limit=ALL, **call.whose)
        return tool_texts.listed(found, asked.page, PAGE, call.memory.zone)
