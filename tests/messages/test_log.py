"""What is written of a conversation: by whom and when it was said, under which ids, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_memory.messages.log import Log
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import GLOBAL_ID, Message

ANA = Owner("user", "ana")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
UUID = "0b7ad7cb-5a1c-4d4b-9a9d-1f0e6f0c8a11"
SUMMARY = HumanMessage("They spoke of tea", additional_kwargs={"lc_source": "summarization"})


class Kept(NamedTuple):
    """An item as a store gives it."""

    key: str
    value: dict[str, Any]
    namespace: tuple[str, ...] = ANA.namespace("message")


def log_of(messages: Sequence[BaseMessage], thread_id: str = "t") -> Log:
    return Log.of(messages, ANA, thread_id, None)


def records(
    messages: Sequence[BaseMessage],
    thread_id: str = "t",
    redact: Callable[[str], str] = str,
    stored: Sequence[Message] = (),
    gone: Sequence[str] = (),
) -> list[Message]:
    """Return what is written of messages, where some records are kept and some ids are marked."""
    log = log_of(messages, thread_id)
    items: dict[tuple[bool, str], Any] = {(True, id): Kept(id, {}) for id in gone}
    items |= {(False, record.id): Kept(record.id, record.to_value()) for record in stored}
    found = [items.get((op.namespace[-1] == "forgotten", op.key)) for op in log.read_ops()]
    return log.records(found, LATER if stored or gone else NOW, redact)


# -- a message and its record --------------------------------------------------------------------


def test_a_message_is_known_by_its_id_in_its_thread() -> None:
    said = [HumanMessage("Hello", id="m1")]
    [one], [again], [other] = records(said), records(said), records(said, thread_id="u")
    assert one == again
    assert one.message_id == other.message_id == "m1"
    assert one.id != other.id


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ua"), st.sampled_from(["ok", "yes", ""])), max_size=8))
def test_messages_without_ids_keep_their_ids_as_a_history_grows(
    history: list[tuple[str, str]],
) -> None:
    messages: list[BaseMessage] = [
        HumanMessage(text) if who == "u" else AIMessage(text) for who, text in history
    ]
    whole = [record.id for record in records(messages)]
    assert len(set(whole)) == len(whole) == sum(bool(text) for _, text in history)
    for end in range(len(messages)):
        part = [record.id for record in records(messages[:end])]
        assert part == whole[: len(part)]


def test_messages_without_ids_are_not_taken_for_those_of_another_thread() -> None:
    [record] = records([HumanMessage("Hello")])
    assert records([HumanMessage("Hello")], stored=[record]) == []
    [other] = records([HumanMessage("Hello")], thread_id="u", stored=[record])
    assert other.id != record.id


def test_a_position_is_the_place_among_all_that_were_given() -> None:
    given = [SystemMessage("Be brief"), HumanMessage("Hello"), SUMMARY, AIMessage("Hi")]
    assert [record.position for record in records(given)] == [1, 3]


def test_a_text_is_redacted_and_its_speaker_named() -> None:
    said = [HumanMessage("Hello", name="Zoë"), AIMessage("Hello", name="")]
    assert [(record.text, record.speaker, record.role) for record in records(said)] == [
        ("Hello", "Zoë", "user"),
        ("Hello", "assistant", "assistant"),
    ]
    assert [record.text for record in records(said, redact=str.upper)] == ["HELLO", "HELLO"]


# -- said before ---------------------------------------------------------------------------------


def test_of_a_history_only_what_is_new_is_written() -> None:
    said = [HumanMessage("Hello", id="m1"), SUMMARY, AIMessage("Hi", id="m2")]
    kept = records(said)
    said.append(HumanMessage("And now?", id="m3"))
    assert [record.text for record in records(said, stored=kept)] == ["And now?"]
    assert [record.text for record in records(said, stored=kept[:1])] == ["Hi", "And now?"]


def test_an_edited_message_gets_its_new_text_and_keeps_its_place_and_its_time() -> None:
    said = [SystemMessage("Be brief"), HumanMessage("A kilo", id="m1", name="Zoë")]
    [old] = records(said)
    [new] = records([HumanMessage("Two kilos", id="m1")], stored=[old])
    assert (new.text, new.edited_at) == ("Two kilos", LATER)
    assert (new.id, new.created_at, new.position) == (old.id, NOW, 1)
    assert (new.speaker, new.thread_id) == ("Zoë", "t")


def test_a_message_that_was_emptied_stays_as_it_was_said() -> None:
    [old] = records([HumanMessage("A kilo", id="m1")])
    assert records([HumanMessage("", id="m1")], stored=[old]) == []


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())), st.sampled_from([str, str.upper]))
def test_no_text_is_taken_for_an_edit_of_itself(text: str, redact: Callable[[str], str]) -> None:
    said = [HumanMessage(text, id="m1")]
    assert records(said, redact=redact, stored=records(said, redact=redact)) == []


def test_what_a_store_replaced_in_a_text_is_no_edit() -> None:
    said = [HumanMessage("half an emoji: \ud83d", id="m1")]
    [kept] = records([HumanMessage("half an emoji: \ufffd", id="m1")])
    assert records(said, stored=[kept]) == []


def test_a_message_that_was_forgotten_stays_so_also_when_it_is_edited() -> None:
    for id in ("m1", UUID):
        [old] = records([HumanMessage("A kilo", id=id)])
        assert records([HumanMessage("Two kilos", id=id)], gone=[old.id]) == []


# -- the same message in another thread ----------------------------------------------------------


def test_a_message_with_an_id_of_its_own_is_one_in_all_threads() -> None:
    said = [HumanMessage("Hello", id=UUID)]
    [record] = records(said)
    assert record.id == Message.id_of("t", UUID) == Message.id_of("u", UUID)
    assert records(said, thread_id="u", stored=[record]) == []
    assert records(said, thread_id="u", gone=[record.id]) == []


def test_a_number_that_each_thread_counts_anew_says_nothing_of_other_threads() -> None:
    longest = "7" * (GLOBAL_ID - 1)
    [record] = records([HumanMessage("Hello", id=longest)])
    [other] = records([HumanMessage("Hello", id=longest)], thread_id="u", stored=[record])
    assert other.id != record.id
    assert (other.text, other.thread_id) == ("Hello", "u")


def test_what_a_fork_says_under_the_same_id_is_kept_beside_what_was_said_first() -> None:
    [first] = records([HumanMessage("A kilo", id=UUID)])
    other = [HumanMessage("Two kilos", id=UUID)]
    [forked] = records(other, thread_id="u", stored=[first])
    assert (forked.text, forked.thread_id) == ("Two kilos", "u")
    assert (forked.id, forked.edited_at) == (Message.id_in("u", UUID), None)
    both = [first, forked]
    assert records(other, thread_id="u", stored=both) == []
    assert records([HumanMessage("A kilo", id=UUID)], stored=both) == []
    [edited] = records([HumanMessage("Three", id=UUID)], thread_id="u", stored=both)
    assert (edited.id, edited.text) == (forked.id, "Three")


def test_what_was_kept_under_the_id_of_its_thread_is_not_written_again() -> None:
    """As every message once was."""
    said = [HumanMessage("A kilo", id=UUID)]
    [record] = records(said)
    old = Message.from_value(ANA, Message.id_in("t", UUID), record.to_value())
    assert records(said, stored=[old]) == []
    assert records(said, gone=[old.id]) == []
    [edited] = records([HumanMessage("Two kilos", id=UUID)], stored=[old])
    assert edited.id == old.id
