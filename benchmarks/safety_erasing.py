"""What is left of an erased user in the files, and of a forgotten note in what is recalled.

Run by `benchmarks.safety`. Of erasing, a line for each way to delete a user:

- `ids`, `texts`, `vectors`: how often the files have the user's id, a part of 32 bytes of one of
  their texts, a part of one of their vectors, that nothing of others has;
- `others`: how many records of others there are then, `closed` how many seconds those waited.

Of forgetting, a line for each way to forget a note: how many records of each type that a recall
brings up still `say` it, and how many records about something else were `lost`.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from langgraph_memory import ChromaStore, Memory, Sessions, compact, open_sessions
from langgraph_memory.files.byte_search import Needles, file_chunks
from langgraph_memory.records.records import Message
from langgraph_memory.store.erasing import forms_of, pieces_of_text, pieces_of_vectors
from langgraph_memory.testing import HashingEmbeddings

Line = dict[str, Any]

_GONE, _OTHER = "customer-7f3a", "somebody"
_RECORDS = 300

_FACTS = (
    ("Lives in Graz", "I live in Graz, by the river", "Graz", "Where do I live?"),
    ("Is allergic to hazelnuts", "I am allergic to hazelnuts", "hazelnuts", "What can't I eat?"),
    ("Has a dog called Bruno", "I have a dog called Bruno", "Bruno", "What is my dog called?"),
    ("Works as a welder", "I work as a welder", "welder", "What is my job?"),
    ("Drinks decaf after noon", "I drink decaf after noon", "decaf", "Which coffee do I drink?"),
    ("Votes for the Greens", "I vote for the Greens", "Greens", "How do I vote?"),
    ("Takes insulin at night", "I take insulin at night", "insulin", "Which medicine do I take?"),
    ("住在成都", "我住在成都", "成都", "我住在哪个城市？"),
    ("对花生过敏", "我对花生过敏", "花生", "我不能吃什么？"),
)


# -- erasing --


def erasure() -> Iterator[Line]:
    """Yield what each way to delete a user leaves."""
    for way, delete in (("forget", _forget), ("forget, compact", _forget), ("erase", _erase)):
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "memory"
            sought = _filled(directory)
            with _opened(directory) as memory, open_sessions(directory) as sessions:
                closed = delete(memory, sessions)
                others = len(memory.list(user=_OTHER, types=("note", "message"), limit=10_000))
            if way == "forget, compact":
                compact(directory, on_progress=lambda done, total: None)
            found = {name: _count(directory, needles) for name, needles in sought.items()}
            yield {"part": "erasure", "way": way, **found, "others": others, "closed": closed}


def _filled(directory: Path) -> dict[str, Needles]:
    """Let two users have records and threads; return what is searched for of one."""
    with _opened(directory) as memory, open_sessions(directory) as sessions:
        for user in (_GONE, _OTHER):
            _turns(memory, sessions, user)
            for number in range(_RECORDS // 2):
                memory.remember(
                    f"Likes {_word(user, number)} with {_word(user, -number)}", user=user
                )
        collection = memory.store
        assert isinstance(collection, ChromaStore)
        theirs, others = (
            {piece for record in _records(memory, user) for piece in pieces_of_text(record)}
            for user in (_GONE, _OTHER)
        )
        of = [
            set(pieces_of_vectors(collection.vectors([("memory", "user", user, type)])))
            for user in (_GONE, _OTHER)
            for type in ("note", "message")
        ]
        forms = forms_of([_GONE])
    return {
        "ids": Needles(forms.own | {_GONE.encode()}),
        "texts": Needles(theirs - others),
        "vectors": Needles((of[0] | of[1]) - of[2] - of[3]),
    }


def _turns(memory: Memory, sessions: Sessions, user: str) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    from langgraph_memory import remember_node

    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [AIMessage("I shall see to it.")]})
    graph.add_node("remember", remember_node(memory))
    graph.add_edge(START, "chat")
    graph.add_edge("chat", "remember")
    compiled = graph.compile(checkpointer=sessions.checkpointer)
    for number in range(10):
        asked = HumanMessage(f"Please book {_word(user, 900 + number)} for the whole family")
        config = sessions.config(user=user, thread_id=f"{user}-{number % 3}")
        compiled.invoke({"messages": [asked]}, config)


def _word(user: str, number: int) -> str:
    return f"{user[::-1]}{number}"


def _records(memory: Memory, user: str) -> list[str]:
    types: Any = ("note", "message", "episode")
    records = memory.list(user=user, types=types, limit=10_000)
    return [record.text for record in records]


def _forget(memory: Memory, sessions: Sessions) -> float:
    memory.forget(user=_GONE, everything=True)
    for session in sessions.list(_GONE):
        sessions.delete(_GONE, session.thread_id)
    return 0.0


def _erase(memory: Memory, sessions: Sessions) -> float:
    erased = memory.erase(user=_GONE, sessions=sessions).erased
    return 0.0 if erased is None else round(erased.closed, 1)


def _count(directory: Path, needles: Needles) -> int:
    files = (file for file in directory.rglob("*") if file.is_file())
    return sum(needles.count_in(file_chunks(file)).total() for file in files)


def _opened(directory: Path) -> Memory:
    return Memory(ChromaStore(directory, embed=HashingEmbeddings()))


# -- forgetting --


def forgetting() -> Iterator[Line]:
    """Yield what a recall has of forgotten notes, for each way to forget them."""
    ways: tuple[tuple[str, Callable[[Memory, str], object]], ...] = (
        ("none", lambda memory, id: None),
        ("forget", lambda memory, id: memory.forget(id, user="ana")),
        ("forget, sources", lambda memory, id: memory.forget(id, user="ana", sources=True)),
    )
    for way, forget in ways:
        says: Counter[str] = Counter()
        lost = 0
        for fact in _FACTS:
            with Memory(ChromaStore.in_memory()) as memory:
                forget(memory, _told(memory, fact))
                says.update(_recalled(memory, fact))
                lost += 5 - len([text for text in _records(memory, "ana") if "piano" in text])
        yield {"part": "forgetting", "way": way, "facts": len(_FACTS), "say": says, "lost": lost}


def _told(memory: Memory, fact: tuple[str, str, str, str]) -> str:
    """Let records of all types say a fact, beside others about something else."""
    text, said, word, _ = fact
    asked = f"Please book a table for two. {said}."
    first = [HumanMessage(asked, id="q" * 20), AIMessage(f"Booked. Noted: {said}.", id="a" * 20)]
    memory.log_turn(first, user="ana", thread_id="t")
    episode = memory.log_episode(asked, user="ana", thread_id="t", turn_id="q" * 20)
    memory.log_turn(HumanMessage(f"Well, {said}!", id="l" * 20), user="ana", thread_id="later")
    memory.add_document(f"{said}. The piano was tuned in May.", source="diary", user="ana")
    memory.remember(f"Ask about {word} first", user="ana", kind="lesson", sources=[episode.id])
    others = ("My sister plays the piano", "Send the piano to Linz", "The piano is from 1911")
    for number, other in enumerate(others):
        memory.log_turn(HumanMessage(other, id=f"{number}" * 20), user="ana", thread_id="p")
    memory.log_episode("Tune the piano", user="ana", thread_id="p", turn_id="0" * 20)
    memory.remember("Plays the piano", user="ana")
    return memory.remember(text, user="ana", sources=[Message.id_of("t", "q" * 20)]).record.id


def _recalled(memory: Memory, fact: tuple[str, str, str, str]) -> Counter[str]:
    text, said, word, question = fact
    found: dict[str, str] = {}
    for asked in (question, said, text, f"Book a table. {said}"):
        recalled = memory.recall(asked, user="ana")
        records: list[Any] = [*recalled.profile, *recalled.recent, *recalled.lessons]
        hits = (*recalled.hits, *recalled.perhaps, *recalled.stated, *recalled.episodes)
        records += [hit.record for hit in hits]
        found |= {record.id: record.type for record in records if word in record.text}
    return Counter(found.values())
