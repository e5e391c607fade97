"""Both forms of each verb: `remember` and `aremember` return, raise and keep the same.

Other tests of verbs run one of the forms alone, since here any calls of them are made in both.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from langgraph_memory import ChromaStore, Episode, Memory, Note, open_sessions
from langgraph_memory.memory import arguments
from langgraph_memory.messages import langchain, log
from langgraph_memory.notes import reconciliation
from langgraph_memory.records import RecordType, record_id
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.conftest import Verbs

ANA: dict[str, Any] = {"user": "ana"}
ALL: Sequence[RecordType] = ("note", "message", "episode", "document", "source", "extraction")


@dataclass
class Kept:
    """What calls can name: ids of what earlier calls have kept, and a folder."""

    folder: Path = Path()
    ids: list[str] = field(default_factory=lambda: ["none"])
    changes: list[str] = field(default_factory=lambda: ["none"])
    proposed: list[str] = field(default_factory=lambda: ["none"])
    tasks: list[str] = field(default_factory=lambda: ["none"])

    def saw(self, result: Any) -> None:
        for each in result if isinstance(result, list) else [result]:
            record = getattr(each, "record", each)
            if isinstance(record, Note):
                self.ids.append(record.id)
                self.changes.append(each.id)
                if record.status == "proposed" and record.id not in self.proposed:
                    self.proposed.append(record.id)
            if isinstance(record, Episode):
                self.tasks.append(record.id)


Asked = tuple[Sequence[Any], Mapping[str, Any]]
Ask = Callable[[Kept, int], Asked]
"""Makes the arguments of a call; the number chooses among a few."""

TEXTS = ("Lives in Graz", "Lives in Linz", "Drinks decaf", "Ships by courier, and never by mail")


def text(number: int) -> str:
    return TEXTS[number % len(TEXTS)]


def turn(number: int) -> list[tuple[str, str]]:
    return [("user", f"{text(number)}. Can you keep that?"), ("ai", f"Noted, {number}.")]


def episode(number: int) -> Episode:
    return Episode(
        id=record_id("episode", "t", f"e{number}"),
        owner=arguments.writer("ana"),
        created_at=ManualClock()(),
        task=text(number),
        approach="",
        outcome="failure",
    )


CALLS: dict[str, Ask] = {
    "warm_up": lambda kept, n: ((), {}),
    "keep_proposed": lambda kept, n: (([text(n + 2), text(n + 3)],), {**ANA, "sources": ["m"]}),
    "approve": lambda kept, n: ((kept.proposed[-1],), ANA),
    "reject": lambda kept, n: ((kept.proposed[-2:][0],), ANA),
    "remember": lambda kept, n: ((text(n),), {**ANA, "slot": "home" if n % 2 else None}),
    "edit": lambda kept, n: ((kept.ids[-1],), {**ANA, "text": f"{text(n)}, says Ana"}),
    "pin": lambda kept, n: ((kept.ids[-1],), {**ANA, "pinned": n % 2 == 0}),
    "undo": lambda kept, n: ((kept.changes[-1],), ANA),
    "restore": lambda kept, n: ((f"{kept.ids[-1]}@1",), ANA),
    "history": lambda kept, n: ((kept.ids[-1],), ANA),
    "facts": lambda kept, n: ((), ANA),
    "log_turn": lambda kept, n: ((turn(n),), {**ANA, "thread_id": f"t{n % 2}"}),
    "is_forgotten": lambda kept, n: (("m",), {**ANA, "thread_id": "t1"}),
    "pending": lambda kept, n: ((), ANA),
    "process_turn": lambda kept, n: (("ana", "t1"), {}),
    "process_later": lambda kept, n: (("ana", "t0"), {}),
    "flush": lambda kept, n: ((), {}),
    "extract": lambda kept, n: ((), ANA),
    "log_episode": lambda kept, n: ((text(n),), {**ANA, "outcome": "failure", "turn_id": f"e{n}"}),
    "keep_episode": lambda kept, n: ((episode(n),), {}),
    "rate_episode": lambda kept, n: ((kept.tasks[-1], n / 4), {**ANA, "notes": "late"}),
    "recall_episodes": lambda kept, n: ((text(n),), ANA),
    "reflect": lambda kept, n: ((), ANA),
    "add_document": lambda kept, n: ((f"# Tea\n\n{text(n)}\n",), {**ANA, "source": "tea.md"}),
    "recall": lambda kept, n: ((text(n),), {**ANA, "limit": n + 1}),
    "list": lambda kept, n: ((), {**ANA, "types": ALL[: n + 1], "status": None}),
    "get": lambda kept, n: ((kept.ids[-1],), ANA),
    "count": lambda kept, n: ((), ANA),
    "consolidate": lambda kept, n: ((), {"max_notes": n + 1}),
    "forget": lambda kept, n: ((kept.ids[-1],), {**ANA, "sources": n % 2 == 0}),
    "backup": lambda kept, n: ((kept.folder / "backup",), {}),
    "erase": lambda kept, n: ((), {**ANA, "sessions": open_sessions(kept.folder / "threads")}),
    "close": lambda kept, n: ((), {}),
}
IN_A_FOLDER = ("backup", "erase", "close")


def answer(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Answer what is asked for notes, lessons and merges alike."""
    found = {"message": 1, "quote": "keep that", "text": f"Ana asked {len(messages)} things"}
    lesson = {"text": "Call the courier first.", "tasks": [1], "importance": 0.7}
    return {"notes": [found], "lessons": [lesson], "merges": [], "relations": []}


@contextmanager
def known_ids() -> Iterator[None]:
    """Let ids that are drawn by chance be the same ones each time."""
    drawn = random.Random(0)
    uuids = SimpleNamespace(uuid4=lambda: uuid.UUID(int=drawn.getrandbits(128)))
    with pytest.MonkeyPatch.context() as patch:
        for module in (arguments, langchain, log, reconciliation):
            patch.setattr(module, "uuid", uuids)
        yield


def lived(prefix: str, store: ChromaStore, calls: Sequence[tuple[str, int]], kept: Kept) -> Any:
    """Return what calls in one form returned or raised, and what is kept then."""

    async def live() -> list[Any]:
        model = ScriptedChatModel([answer] * 99)
        memory = Memory(store, model=model, clock=ManualClock(), review=True)
        verbs, seen = Verbs(memory, prefix), []
        for name, number in calls:
            args, kwargs = CALLS[name](kept, number)
            try:
                result = await getattr(verbs, name)(*args, **kwargs)
                kept.saw(result)
            except Exception as error:  # noqa: BLE001  # compared with that of the other form
                result = error
            seen.append((name, repr(result).replace(str(kept.folder), "")))
            if name == "process_later":  # not to be overtaken
                memory.flush()
        if ("close", 0) not in calls:
            left = memory.list(user="ana", types=ALL, status=None, limit=1000)
            seen.append(("list", repr(left)))
            memory.close()
        return seen

    with known_ids():
        return asyncio.run(live())


def test_each_verb_has_a_form_that_is_awaited() -> None:
    verbs = [name for name in dir(Memory) if not name.startswith("_")]
    pairs = {name for name in verbs if f"a{name}" in verbs}
    assert pairs == set(CALLS)
    for name in pairs:
        plain, awaited = getattr(Memory, name), getattr(Memory, f"a{name}")
        assert inspect.iscoroutinefunction(awaited)
        assert not inspect.iscoroutinefunction(plain)
        assert inspect.signature(plain) == inspect.signature(awaited)
        assert (plain.__name__, awaited.__name__) == (name, f"a{name}")
        assert f"Async form of `{name}`" in awaited.__doc__
        assert plain.__doc__.strip() in awaited.__doc__


def test_both_forms_of_each_verb_return_and_keep_the_same(tmp_path: Path) -> None:
    ends = []
    calls = [(name, number) for name in CALLS for number in (0, 1) if name not in IN_A_FOLDER]
    calls += [("remember", 3), *((name, 0) for name in IN_A_FOLDER)]
    for prefix in ("", "a"):
        folder = tmp_path / f"form{prefix}"
        store = ChromaStore(folder / "memory", embed=HashingEmbeddings())
        ends.append(lived(prefix, store, calls, Kept(folder)))
    for plain, awaited in zip(*ends, strict=True):
        if plain[0] not in ("backup", "erase"):  # files' sizes, and how long it took
            assert plain == awaited
    assert set(CALLS) == {seen[0] for seen in ends[0] if "Error(" not in seen[1]}


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(CALLS.keys() - {*IN_A_FOLDER})), st.integers(0, 4)),
        max_size=12,
    )
)
def test_both_forms_return_raise_and_keep_the_same_whatever_is_called(
    calls: list[tuple[str, int]],
) -> None:
    ends = [
        lived(prefix, ChromaStore.in_memory(embed=HashingEmbeddings()), calls, Kept())
        for prefix in ("", "a")
    ]
    assert ends[0] == ends[1]
