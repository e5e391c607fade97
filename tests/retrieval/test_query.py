"""What a recall brings: the profile, what was said last, what is relevant, and nothing else."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory, Ranking
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note
from langgraph_memory.retrieval.ranking import Floors
from langgraph_memory.retrieval.recalled import Recalled
from langgraph_memory.retrieval.results import PERHAPS
from langgraph_memory.store.records import put_op
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.conftest import Verbs

NONSENSE = "quantum chromodynamics lattice"


def texts(records: Any) -> list[str]:
    return [record.text for record in records]


async def say(memory: Verbs, *said: str, thread: str = "monday", user: str = "ana") -> None:
    """Log messages of the user, each with an id of its own in the thread."""
    messages = [HumanMessage(text, id=text) for text in said]
    await memory.log_turn(messages, user=user, thread_id=thread)


# -- an empty memory, and nothing relevant -------------------------------------------------------


async def test_an_empty_memory_recalls_nothing(memory: Verbs) -> None:
    recalled = await memory.recall("coffee", user="ana")
    assert recalled == Recalled("coffee")
    assert recalled.nothing_known
    assert recalled.prompt() == recalled.explain() == ""


async def test_a_memory_is_empty_while_it_holds_nothing_but_the_session_that_is_going_on(
    memory: Verbs,
) -> None:
    await memory.remember("Drinks decaf", user="ben")
    await say(memory, "Hello", thread="monday")
    first = await memory.recall(NONSENSE, user="ana", thread_id="monday")
    assert first.empty
    assert first.prompt() == ""
    assert not (await memory.recall(NONSENSE, user="ana", thread_id="tuesday")).empty


async def test_nothing_is_known_about_what_no_record_is_near_to(memory: Verbs) -> None:
    await memory.remember("Drinks decaf after noon", user="ana")
    await memory.log_turn("I bought a grinder", user="ana", thread_id="t")
    await memory.log_episode("Order a kilo", user="ana")
    recalled = await memory.recall(NONSENSE, user="ana")
    assert recalled.nothing_known
    assert recalled.hits == recalled.episodes == ()
    assert not recalled.empty
    assert sorted(texts(recalled.perhaps)) == ["Drinks decaf after noon", "I bought a grinder"]


async def test_without_a_floor_all_comes_up_and_something_is_known(memory: Verbs) -> None:
    await memory.remember("Drinks decaf after noon", user="ana")
    recalled = await memory.recall(NONSENSE, user="ana", min_relevance=0)
    assert texts(recalled) == ["Drinks decaf after noon"]
    assert not recalled.nothing_known


async def test_a_higher_floor_lets_less_through(memory: Verbs) -> None:
    await memory.remember("Drinks decaf after noon", user="ana")
    query = "decaf tomorrow"
    assert texts(await memory.recall(query, user="ana", min_relevance=0.1)) == [
        "Drinks decaf after noon"
    ]
    assert (await memory.recall(query, user="ana", min_relevance=1.9)).nothing_known


@pytest.mark.parametrize("query", ["", "  \n"])
async def test_without_a_question_there_are_profile_and_last_session_but_no_hits(
    memory: Verbs, query: str
) -> None:
    await memory.remember("Drinks decaf", user="ana")
    await say(memory, "Hello")
    recalled = await memory.recall(query, user="ana")
    assert (recalled.hits, recalled.perhaps, recalled.nothing_known) == ((), (), True)
    assert texts(recalled.profile) == ["Drinks decaf"]
    assert texts(recalled.recent) == ["Hello"]


async def test_a_question_of_small_words_alone_is_no_reason_to_recall_anything(
    memory: Verbs,
) -> None:
    await memory.remember("Drinks decaf", user="ana")
    assert (await memory.recall("Who am I, and what is it?", user="ana")).nothing_known


# -- by words ------------------------------------------------------------------------------------


async def test_what_shares_words_with_the_question_comes_first(memory: Verbs) -> None:
    for text in ("Has a moka pot", "Ships to Rosario", "Is allergic to nuts", "Pays by card"):
        await memory.remember(text, user="ana")
    recalled = await memory.recall("Where is the moka pot?", user="ana")
    assert texts(recalled)[0] == "Has a moka pot"
    assert recalled.query == "Where is the moka pot?"
    assert not recalled.nothing_known


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("她对花生过敏", "她对花生过敏吗？"),
        ("用摩卡壶煮咖啡", "摩卡壶"),
        ("寄到罗萨里奥", "罗萨里奥在哪里"),
        ("コーヒーを豆で買う", "コーヒー豆"),
        ("커피를 좋아해요", "커피"),
        ("Она любит зелёный чай", "зелёный чай"),
        ("تحب القهوة العربية", "القهوة العربية"),
        ("Order number 4711-B", "4711-B"),
        ("Likes ☕ a lot", "about ☕"),
        ("Writes C++ for a living", "c++"),
        ("Lebt in der Straße 5", "STRASSE"),
    ],
)
async def test_words_of_any_language_are_found(memory: Verbs, note: str, query: str) -> None:
    for other in ("Pays by card", "住在北京", "Любит собак"):
        await memory.remember(other, user="ana")
    await memory.remember(note, user="ana")
    assert texts(await memory.recall(query, user="ana"))[:1] == [note]


async def test_the_words_of_a_message_its_speaker_and_its_date_are_all_found(
    memory: Verbs,
) -> None:
    said = HumanMessage("The roaster broke down", name="Zoë")
    await memory.log_turn(said, user="ana", thread_id="t", at=datetime(2025, 12, 24, tzinfo=UTC))
    for query in ("roaster broke", "Zoë", "24 December 2025"):
        assert texts(await memory.recall(query, user="ana")) == ["The roaster broke down"]


async def test_hits_are_notes_and_messages_and_past_tasks_stand_apart(memory: Verbs) -> None:
    await memory.remember("Has a moka pot", user="ana")
    await memory.log_turn("My moka pot leaks", user="ana", thread_id="t")
    for number in range(5):
        await memory.log_episode(f"Repair moka pot {number}", user="ana")
    recalled = await memory.recall("moka pot", user="ana")
    assert {hit.record.type for hit in recalled} == {"note", "message"}
    assert [hit.record.type for hit in recalled.episodes] == ["episode"] * 3


async def test_a_past_task_alone_is_something_known(memory: Verbs) -> None:
    await memory.log_episode("Repair the moka pot", user="ana", approach="New seal")
    recalled = await memory.recall("repair moka pot", user="ana")
    assert not recalled.nothing_known
    assert recalled.hits == ()
    [hit] = recalled.episodes
    assert "New seal" in hit.text


async def test_a_note_among_thousands_is_found(store: BaseStore) -> None:
    """Also by a store that searches by meaning only, or that does not search."""
    with Memory(store) as memory:
        said = [HumanMessage(f"small talk number {i}", id=str(i)) for i in range(1_500)]
        memory.log_turn(said, user="ana", thread_id="t")
        memory.log_turn("The moka pot leaks", user="ana", thread_id="t")
        assert texts(memory.recall("moka pot", user="ana", types=("message",)))[:1] == [
            "The moka pot leaks"
        ]


async def test_what_was_said_many_times_is_found_as_well_as_what_was_said_once(
    memory: Verbs,
) -> None:
    await memory.remember("Drinks decaf", user="ana")
    [once] = (await memory.recall("decaf tomorrow", user="ana", min_relevance=0)).hits
    for _ in range(50):
        await memory.remember("Drinks decaf", user="ana")
    [often] = (await memory.recall("decaf tomorrow", user="ana", min_relevance=0)).hits
    assert often.parts["coverage"] == pytest.approx(once.parts["coverage"])
    assert often.score == pytest.approx(once.score)


async def test_a_message_is_found_by_what_was_said_around_it(memory: Verbs) -> None:
    turns = ("What about the grinder?", "It went to my aunt", "Fine", "Now for the taxes")
    await say(memory, *turns)
    await say(memory, *(f"small talk number {i}" for i in range(40)), thread="other")
    found = await memory.recall("grinder", user="ana", types=("message",), limit=3)
    assert texts(found)[0] == "It went to my aunt"
    assert found.hits[0].parts["bm25"] > 0


async def test_notes_messages_and_documents_compare(fluent_memory: Memory) -> None:
    """Whatever answers best is first, of whichever type it is."""
    said = ["My sister Lucia moved to Lima", "How does she like it?", "She loves the food there"]
    for i, text in enumerate(said):
        message = HumanMessage(text, id=str(i)) if i % 2 == 0 else AIMessage(text, id=str(i))
        fluent_memory.log_turn([message], user="ana", thread_id="t")
    for note in ("Brews with a moka pot", "Is allergic to peanuts", "Pays by card"):
        fluent_memory.remember(note, user="ana")
    page = "# Returns\n\nUnopened bags can be returned within 30 days."
    fluent_memory.add_document(page, source="faq.md", user="ana")
    for question, type, text in (
        ("Which pot does she brew with?", "note", "Brews with a moka pot"),
        ("Can unopened bags be returned?", "document", page),
        ("Where did Lucia move to?", "message", said[0]),
        ("对什么过敏？", "note", "Is allergic to peanuts"),
    ):
        first = fluent_memory.recall(question, user="ana").hits[0]
        assert (first.record.type, first.text) == (type, text), question


async def test_a_note_and_the_message_it_came_from_are_one_hit(
    store: BaseStore, clock: ManualClock, form: str
) -> None:
    item = {"message": 1, "kind": "fact", "quote": "a moka pot", "text": "Has a moka pot"}
    model = ScriptedChatModel([{"notes": [item]}])
    memory = Verbs(Memory(store, model=model, clock=clock), form)
    await memory.log_turn([("user", "I have a moka pot")], user="ana", thread_id="t")
    await memory.extract(user="ana")
    asked: dict[str, Any] = {"user": "ana", "min_relevance": 0}
    assert texts(await memory.recall("moka pot", **asked)) == ["Has a moka pot"]
    said = await memory.recall("moka pot", types=("message",), **asked)
    assert texts(said) == ["I have a moka pot"]


async def test_the_words_of_a_project_that_are_the_users_too_are_one_hit(memory: Verbs) -> None:
    await memory.remember("Opens at nine", user="ana", project="bar")
    await memory.remember("opens at  NINE", user="ana")
    await memory.remember("Opens at nine on weekdays", user="ana", project="bar")
    recalled = await memory.recall("When does it open? At nine?", user="ana", project="bar")
    assert sorted(texts(recalled)) == ["Opens at nine on weekdays", "opens at  NINE"]


def test_a_conversation_too_large_for_memory_is_ranked_among_what_is_near(
    clock: ManualClock,
) -> None:
    large = ChromaStore.in_memory(embed=HashingEmbeddings(), partition_limit=10)
    with Memory(large, clock=clock) as memory:
        said = [HumanMessage(f"small talk number {i}", id=str(i)) for i in range(40)]
        memory.log_turn(said, user="ana", thread_id="t")
        memory.log_turn(HumanMessage("The moka pot leaks", name="Omar"), user="ana", thread_id="t")
        found = memory.recall("What did Omar say of the moka pot?", user="ana", types=("message",))
        assert found.hits[0].text == "The moka pot leaks"
        assert found.hits[0].parts["named"] == 1


# -- by meaning ----------------------------------------------------------------------------------

HOUSEHOLD = {
    "en": (
        "The dog is called Bruno",
        "She is a doctor at the children's hospital",
        "They moved to Lisbon in spring",
        "Plays the violin in an orchestra",
    ),
    "zh": ("我家的狗叫布鲁诺", "她是儿童医院的医生", "他们春天搬到了里斯本", "在乐团里拉小提琴"),
}


@pytest.mark.parametrize(
    ("language", "query", "number"),
    [
        ("en", "my puppy", 0),
        ("en", "Where does the physician work?", 1),
        ("en", "To which city did they relocate?", 2),
        ("en", "musical instruments", 3),
        ("zh", "你的小狗有名字吗", 0),
        ("zh", "她的职业", 1),
        ("zh", "他们住在哪个城市？", 2),
        ("zh", "会什么乐器", 3),
        ("zh", "What is my puppy's name?", 0),
        ("en", "她的职业", 1),
        ("zh", "To which city did they relocate?", 2),
        ("en", "会什么乐器", 3),
    ],
)
async def test_what_means_the_same_is_the_best_hit_in_and_across_languages(
    fluent_memory: Memory, language: str, query: str, number: int
) -> None:
    for note in HOUSEHOLD[language]:
        fluent_memory.remember(note, user="ana")
    recalled = await fluent_memory.arecall(query, user="ana", min_relevance=0)
    assert texts(recalled)[0] == HOUSEHOLD[language][number]
    assert recalled.hits[0].parts["cosine"] > 0.25


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("What is the name of the dog?", 0),
        ("你家的狗叫什么？", 0),
        ("小提琴", 3),
        ("children's doctor", 1),
    ],
)
def test_a_plain_question_about_a_note_is_answered(
    fluent_memory: Memory, query: str, number: int
) -> None:
    for notes in HOUSEHOLD.values():
        for note in notes:
            fluent_memory.remember(note, user="ana")
    assert texts(fluent_memory.recall(query, user="ana"))[0] in {
        notes[number] for notes in HOUSEHOLD.values()
    }


@pytest.mark.parametrize(
    "query", ["What is the capital of Mongolia?", NONSENSE, "今天股票行情如何", "你好！"]
)
def test_nothing_is_known_about_another_subject(fluent_memory: Memory, query: str) -> None:
    """What is nearest is shown as uncertain, unless nothing is asked."""
    for notes in HOUSEHOLD.values():
        for note in notes:
            fluent_memory.remember(note, user="ana")
    recalled = fluent_memory.recall(query, user="ana")
    assert recalled.nothing_known
    assert texts(recalled) == []
    assert len(recalled.perhaps) == (0 if query == "你好！" else PERHAPS)


# -- what is perhaps about the question -----------------------------------------------------------


async def test_what_lies_below_what_is_known_is_offered_best_first_and_nothing_twice(
    memory: Verbs,
) -> None:
    """As many as the limit leaves, and five at least."""
    for number in range(6):
        await memory.remember(f"moka pot {number}", user="ana")
    for number in range(20):
        await memory.remember(f"A moka line of other matters, with the number {number}", user="ana")
        await say(memory, f"My line of quite other things is {number}", thread="sunday")
    for limit, expected in ((4, 5), (12, 6), (30, 24)):
        recalled = await memory.recall("moka pot", user="ana", limit=limit)
        known = min(limit, 6)
        assert {text[:8] for text in texts(recalled)} == {"moka pot"}
        assert len(recalled.hits) == known
        assert len(recalled.perhaps) == expected
        assert [h.score for h in recalled.perhaps] == sorted(
            (h.score for h in recalled.perhaps), reverse=True
        )
        found = [hit.record.id for hit in (*recalled.hits, *recalled.perhaps)]
        assert len(found) == len(set(found))


@pytest.mark.parametrize("limit", [0, 1, 10, 100])
async def test_where_nothing_is_known_few_are_offered(memory: Verbs, limit: int) -> None:
    for number in range(12):
        await memory.remember(f"note {number}", user="ana")
    recalled = await memory.recall(NONSENSE, user="ana", limit=limit)
    assert (recalled.nothing_known, recalled.hits) == (True, ())
    assert len(recalled.perhaps) == PERHAPS == 5


async def test_what_is_only_offered_is_of_other_sessions_and_of_what_is_asked_for(
    memory: Verbs, clock: ManualClock
) -> None:
    await say(memory, "My first line is about tea", thread="sunday")
    await say(memory, "My second line is about tea", thread="monday")
    past = clock()
    clock.advance(days=1)
    await memory.remember("Has a bike", user="ana")
    await memory.remember("Decided on a car", user="ana", kind="decision")

    async def perhaps(query: str = NONSENSE, **how: Any) -> set[str]:
        return set(texts((await memory.recall(query, user="ana", **how)).perhaps))

    both = {"My first line is about tea", "My second line is about tea"}
    assert await perhaps() == both | {"Has a bike", "Decided on a car"}
    assert await perhaps(thread_id="monday", types=("message",)) == {"My first line is about tea"}
    assert await perhaps(types=("note",), kinds=("decision",)) == {"Decided on a car"}
    assert await perhaps(filter={"thread_id": "monday"}) == {"My second line is about tea"}
    assert await perhaps(as_of=past) == both
    assert await perhaps("Thank you very much!") == await perhaps("") == set()


# -- what was last -------------------------------------------------------------------------------


async def test_recent_is_the_end_of_the_last_session_whatever_the_question(
    memory: Verbs, clock: ManualClock
) -> None:
    await say(memory, "Hello on Sunday", thread="sunday")
    clock.advance(days=1)
    await say(memory, *(f"message {number}" for number in range(9)), thread="monday")
    await memory.log_episode("Order on Monday", user="ana", thread_id="monday", turn_id="1")
    recalled = await memory.recall(NONSENSE, user="ana")
    *messages, episode = recalled.recent
    assert texts(messages) == [f"message {number}" for number in range(3, 9)]
    assert episode.task == "Order on Monday"
    assert recalled.nothing_known


async def test_the_session_that_is_going_on_is_not_the_last_one(
    memory: Verbs, clock: ManualClock
) -> None:
    for thread in ("sunday", "monday"):
        await say(memory, f"Hello on {thread}", thread=thread)
        await memory.log_episode(f"Order on {thread}", user="ana", thread_id=thread, turn_id="1")
        clock.advance(days=1)

    async def recent(thread: str | None) -> list[str]:
        recalled = await memory.recall("the same", user="ana", thread_id=thread)
        return [getattr(record, "task", record.text) for record in recalled.recent]

    assert await recent("monday") == ["Hello on sunday", "Order on sunday"]
    assert await recent("sunday") == ["Hello on monday", "Order on monday"]
    assert await recent("tuesday") == ["Hello on monday", "Order on monday"]
    assert await recent(None) == ["Hello on monday", "Order on monday"]


async def test_a_first_session_has_none_before_it(memory: Verbs) -> None:
    await say(memory, "Hello")
    assert (await memory.recall("Hello", user="ana", thread_id="monday")).recent == ()


async def test_the_last_session_is_found_behind_a_long_one_that_is_going_on(
    memory: Verbs, clock: ManualClock
) -> None:
    await say(memory, "The usual", thread="sunday")
    clock.advance(days=1)
    await say(memory, *(f"message {number}" for number in range(60)), thread="monday")
    recalled = await memory.recall("the same", user="ana", thread_id="monday")
    assert texts(recalled.recent) == ["The usual"]


async def test_an_old_history_that_is_brought_in_later_is_not_the_last_session(
    memory: Verbs,
) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    await memory.log_turn("The usual", user="ana", thread_id="monday", at=now)
    said = [HumanMessage(f"message {number}", id=str(number)) for number in range(30)]
    long_ago = now - timedelta(days=400)
    await memory.log_turn(said, user="ana", thread_id="imported", at=long_ago)
    assert texts((await memory.recall("the same", user="ana")).recent) == ["The usual"]


async def test_the_messages_of_one_moment_stay_in_the_order_they_were_said(
    memory: Verbs,
) -> None:
    said: list[BaseMessage] = [HumanMessage("one"), AIMessage("two"), HumanMessage("three")]
    await memory.log_turn(said, user="ana", thread_id="t")
    assert texts((await memory.recall("x", user="ana")).recent) == ["one", "two", "three"]


async def test_turns_that_are_logged_for_one_moment_stay_in_the_order_they_were_logged(
    memory: Verbs,
) -> None:
    """As where a history is brought in turn by turn, and of each session only the day is known."""
    day = datetime(2026, 5, 1, tzinfo=UTC)
    for number in range(3):
        said = [
            HumanMessage(f"q{number}", id=f"q{number}"),
            AIMessage(f"a{number}", id=f"a{number}"),
        ]
        await memory.log_turn(said, user="ana", thread_id="t", at=day)
    recalled = await memory.recall("x", user="ana")
    assert texts(recalled.recent) == ["q0", "a0", "q1", "a1", "q2", "a2"]


async def test_of_the_last_session_the_latest_episode_is_recalled(
    memory: Verbs, clock: ManualClock
) -> None:
    await say(memory, "Hello")
    for number in range(3):
        await memory.log_episode(f"task {number}", user="ana", thread_id="monday")
        clock.advance(minutes=1)
    await memory.log_episode("of another session", user="ana", thread_id="other")
    recalled = await memory.recall("x", user="ana")
    assert [getattr(record, "task", record.text) for record in recalled.recent] == [
        "Hello",
        "task 2",
    ]


# -- narrowing -----------------------------------------------------------------------------------


async def test_a_recall_can_be_narrowed_to_types(memory: Verbs) -> None:
    await memory.remember("moka pot note", user="ana")
    await memory.log_turn("moka pot message", user="ana", thread_id="t")
    await memory.log_episode("moka pot task", user="ana")

    async def types(*wanted: str) -> tuple[set[str], set[str]]:
        recalled = await memory.recall("moka pot", user="ana", types=wanted)
        hits = {hit.record.type for hit in recalled}
        return hits, {hit.record.type for hit in recalled.episodes}

    assert await types("note") == ({"note"}, set())
    assert await types("message") == ({"message"}, set())
    assert await types("note", "message", "note") == ({"note", "message"}, set())
    assert await types("episode") == ({"episode"}, {"episode"})
    assert await types("note", "episode") == ({"note", "episode"}, {"episode"})
    assert await types() == (set(), set())


async def test_hits_of_several_types_are_ranked_together(memory: Verbs) -> None:
    await memory.log_episode("moka", user="ana")
    await memory.remember("moka pot", user="ana")
    recalled = await memory.recall(
        "moka pot", user="ana", types=("note", "episode"), min_relevance=0
    )
    scores = [hit.score for hit in recalled]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 2


async def test_a_recall_can_be_narrowed_to_kinds_of_notes(memory: Verbs) -> None:
    await memory.remember("moka pot fact", user="ana", kind="fact")
    await memory.remember("moka pot lesson", user="ana", kind="lesson")
    await memory.log_turn("moka pot message", user="ana", thread_id="t")
    await memory.log_episode("moka pot task", user="ana")
    for kinds in (("lesson",), ["lesson"], ("lesson", "decision")):
        recalled = await memory.recall("moka pot", user="ana", kinds=kinds)
        assert texts(recalled) == ["moka pot lesson"]
        assert recalled.episodes == ()
    assert (await memory.recall("moka pot", user="ana", kinds=("decision",))).nothing_known
    assert (await memory.recall("moka", user="ana", kinds=("fact",), types=("message",))).hits == ()


async def test_no_kinds_are_no_notes_and_not_all_of_them(memory: Verbs) -> None:
    """As in `list`: who computes the kinds and comes to none gets none."""
    await memory.remember("moka pot", user="ana")
    assert (await memory.recall("moka pot", user="ana", kinds=())).hits == ()


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"city": "Lima"}, {"moka two"}),
        ({"city": "Lima", "importance": 0.9}, {"moka two"}),
        ({"city": "Lima", "importance": {"$lt": 0.9}}, set()),
        ({"importance": {"$gte": 0.5}}, {"moka one", "moka two"}),
        ({"slot": "pot"}, {"moka one"}),
        ({"metadata": {"city": "Rosario"}}, {"moka one"}),
        ({"speaker": "user"}, {"moka four"}),
        ({"thread_id": "t"}, {"moka four"}),
        ({"metadata": {"role": "barista"}}, {"moka three"}),
        ({"city": "Quito"}, set()),
        ({}, {"moka one", "moka two", "moka three", "moka four"}),
    ],
    ids=lambda value: repr(sorted(value) if isinstance(value, set) else value),
)
async def test_a_recall_can_be_filtered_by_fields_and_by_metadata(
    memory: Verbs, filter: dict[str, Any], found: set[str]
) -> None:
    await memory.remember(
        "moka one", user="ana", slot="pot", metadata={"city": "Rosario", "size": 3}
    )
    await memory.remember("moka two", user="ana", importance=0.9, metadata={"city": "Lima"})
    await memory.remember("moka three", user="ana", importance=0.1, metadata={"role": "barista"})
    await memory.log_turn("moka four", user="ana", thread_id="t")
    given = copy.deepcopy(filter)
    recalled = await memory.recall("moka", user="ana", filter=given)
    assert set(texts(recalled)) == found
    assert given == filter


async def test_a_filter_that_names_metadata_in_two_ways_is_refused(memory: Verbs) -> None:
    with pytest.raises(ConfigurationError, match="names metadata twice: put 'city'"):
        await memory.recall("moka", user="ana", filter={"city": "Lima", "metadata": {"size": 3}})


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"city": "Lima"}, ["moka one"]),
        ({"role": "barista"}, []),  # a field of messages
        ({"metadata": {"role": "barista"}}, ["moka one"]),
        ({"kind": "fact", "city": {"$ne": "Lima"}}, ["moka two"]),
    ],
    ids=repr,
)
async def test_a_filter_means_the_same_in_a_recall_and_in_a_list(
    memory: Verbs, filter: dict[str, Any], found: list[str]
) -> None:
    await memory.remember("moka one", user="ana", metadata={"role": "barista", "city": "Lima"})
    await memory.remember("moka two", user="ana")
    await memory.log_turn("moka three", user="ana", thread_id="t")
    recalled = await memory.recall("moka", user="ana", types=("note",), filter=filter)
    assert texts(recalled) == texts(await memory.list(user="ana", filter=filter)) == found


async def test_a_filter_reaches_what_is_far_down_among_the_hits(memory: Verbs) -> None:
    for number in range(60):
        await memory.remember(f"moka pot moka pot {number}", user="ana")
    await memory.remember("moka, a long way from all others", user="ana", metadata={"far": True})
    recalled = await memory.recall("moka", user="ana", filter={"far": True}, limit=1)
    assert texts(recalled) == ["moka, a long way from all others"]


async def test_messages_that_the_asker_has_before_them_are_no_hits_and_make_room(
    memory: Verbs,
) -> None:
    await say(memory, *(f"moka {number}" for number in range(6)))
    asked: dict[str, Any] = {"user": "ana", "thread_id": "monday"}
    recalled = await memory.recall("moka", known=["moka 1", "moka 3"], limit=4, **asked)
    assert sorted(texts(recalled)) == ["moka 0", "moka 2", "moka 4", "moka 5"]
    assert not {"moka 1", "moka 3"} & {*texts(recalled.perhaps), *texts(recalled.stated)}
    known = [f"moka {number}" for number in range(6)]
    recalled = await memory.recall("moka", known=known, **asked)
    assert (recalled.nothing_known, recalled.perhaps, recalled.stated) == (True, (), ())


async def test_a_short_id_is_known_in_its_thread_alone_and_a_long_one_everywhere(
    memory: Verbs,
) -> None:
    """Some clients number the messages of each thread from 1."""
    long = "run--3f0c2a52-7a64-4a4e-9d0e-0f8f3f1c9a55-0"
    for thread in ("monday", "tuesday"):
        said = [HumanMessage(f"moka of {thread}", id="1"), HumanMessage(f"on {thread}", id=long)]
        await memory.log_turn(said, user="ana", thread_id=thread)
    recalled = await memory.recall(
        "moka", user="ana", known=["1", long], thread_id="tuesday", min_relevance=0
    )
    assert texts(recalled) == ["moka of monday"]


async def test_a_task_of_the_session_that_is_going_on_is_no_past_task(memory: Verbs) -> None:
    for thread in ("sunday", "monday", None):
        await memory.log_episode(f"Order moka {thread}", user="ana", thread_id=thread)
    recalled = await memory.recall("order moka", user="ana", thread_id="monday")
    tasks = {hit.record.task for hit in recalled.episodes}
    assert tasks == {"Order moka sunday", "Order moka None"}


async def test_a_limit_cuts_the_list_of_hits(memory: Verbs) -> None:
    for number in range(12):
        await memory.remember(f"moka {number}", user="ana")
    ten = (await memory.recall("moka", user="ana")).hits
    assert len(ten) == 10
    assert (await memory.recall("moka", user="ana", limit=3)).hits == ten[:3]
    assert len((await memory.recall("moka", user="ana", limit=50)).hits) == 12
    none = await memory.recall("moka", user="ana", limit=0)
    assert (none.hits, none.nothing_known) == ((), False)


# -- the past ------------------------------------------------------------------------------------


async def test_what_was_superseded_never_comes_up(memory: Verbs) -> None:
    for city in ("Rosario", "Lima"):
        await memory.remember(f"Lives in {city}", user="ana", slot="home city")
    note = (await memory.remember("Drinks decaf", user="ana")).record
    await memory.edit(note.id, user="ana", text="Drinks mate")
    for query in ("Rosario", "decaf", "Lives in Rosario and drinks decaf"):
        recalled = await memory.recall(query, user="ana", min_relevance=0)
        assert (
            set(texts(recalled))
            == set(texts(recalled.profile))
            == {
                "Lives in Lima",
                "Drinks mate",
            }
        )
    filtered = await memory.recall("Rosario", user="ana", filter={"status": "superseded"})
    assert filtered.hits == ()


async def test_as_of_a_moment_the_hits_are_what_was_known_then(
    memory: Verbs, clock: ManualClock
) -> None:
    moments = []
    for city in ("Rosario", "Lima", "Quito"):
        moments.append(clock())
        await memory.remember(f"Lives in city {city}", user="ana", slot="home city")
        await memory.log_turn(f"My city is {city}", user="ana", thread_id=city)
        await memory.log_episode(f"Move to city {city}", user="ana", thread_id=city)
        clock.advance(days=30)

    async def known(as_of: datetime | None) -> tuple[set[str], set[str]]:
        recalled = await memory.recall("city", user="ana", min_relevance=0, as_of=as_of)
        tasks = {hit.record.task.split()[-1] for hit in recalled.episodes}
        return set(texts(recalled)), tasks

    before = moments[0] - timedelta(days=1)
    assert await known(before) == (set(), set())
    assert await known(moments[0]) == (
        {"Lives in city Rosario", "My city is Rosario"},
        {"Rosario"},
    )
    assert await known(moments[1] + timedelta(days=1)) == (
        {"Lives in city Lima", "My city is Rosario", "My city is Lima"},
        {"Rosario", "Lima"},
    )
    assert await known(clock()) == await known(None)


async def test_as_of_a_moment_the_profile_is_what_was_known_then(
    memory: Verbs, clock: ManualClock
) -> None:
    started = clock()
    await memory.remember("Lives in Rosario", user="ana", slot="home city", pinned=True)
    clock.advance(days=30)
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    clock.advance(days=30)
    for number in range(45):
        await memory.remember(f"note {number}", user="ana")
        await memory.remember(f"tea {number}", user="ana", slot="drink")
    for as_of, first, count in ((started, "Lives in Rosario", 1), (clock(), "Lives in Lima", 40)):
        profile = texts((await memory.recall("x", user="ana", as_of=as_of)).profile)
        assert (profile[0], len(profile)) == (first, count)
    assert (await memory.recall("x", user="ana", as_of=started - timedelta(1))).profile == ()


async def test_as_of_a_moment_the_last_session_is_the_last_one_then(
    memory: Verbs, clock: ManualClock
) -> None:
    started = clock()
    await say(memory, "The usual", thread="sunday")
    for number in range(30):
        clock.advance(days=1)
        await say(memory, f"message {number}", thread="monday")
    assert texts((await memory.recall("x", user="ana", as_of=started)).recent) == ["The usual"]
    before = started - timedelta(days=1)
    assert (await memory.recall("x", user="ana", as_of=before)).recent == ()


async def test_a_moment_is_the_same_in_every_time_zone(memory: Verbs, clock: ManualClock) -> None:
    from zoneinfo import ZoneInfo

    await memory.remember("Drinks decaf", user="ana")
    for zone in ("Asia/Shanghai", "America/Lima"):
        moment = clock().astimezone(ZoneInfo(zone))
        assert texts(await memory.recall("decaf", user="ana", as_of=moment)) == ["Drinks decaf"]
        earlier = moment - timedelta(seconds=1)
        assert (await memory.recall("decaf", user="ana", as_of=earlier)).nothing_known


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Lima"])
def test_the_ends_of_time_are_days_as_others_are(zone: str) -> None:
    """One message from there must not make a memory unreadable; both ends stand for "no end"."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime(9999, 12, 31, 23, 58, tzinfo=UTC)
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    with Memory(store, time_zone=zone) as memory:
        for moment in (first, last):
            said = [HumanMessage(f"Likes tea {moment}", id=str(moment))]
            memory.log_turn(said, user="ana", thread_id=str(moment.year), at=moment)
            recalled = memory.recall("tea", user="ana", as_of=moment)
            assert recalled.hits[0].record.created_at == moment
            assert str(moment.date()) in recalled.prompt()
        for days in (last.date(), {"$gt": first.date(), "$lte": last.date()}):
            found = memory.recall("tea", user="ana", filter={"created_at": days})
            assert [hit.record.created_at for hit in found.hits] == [last]
        assert not memory.recall(
            "tea", user="ana", filter={"created_at": {"$gt": last.date()}}
        ).hits


# -- shared memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", ["project", "agent"])
async def test_shared_memory_is_read_beside_the_users_where_it_is_named(
    memory: Verbs, owner: str
) -> None:
    await memory.remember("Tea: mine", user="ana")
    await memory.remember("Tea: shared", user="ana", pinned=True, **{owner: "bar"})
    await memory.remember("Tea: other", user="ana", pinned=True, **{owner: "bar2"})

    async def known(user: str, **owners: str) -> tuple[set[str], set[str]]:
        recalled = await memory.recall("tea", user=user, **owners)
        return set(texts(recalled)), set(texts(recalled.profile))

    both = {"Tea: mine", "Tea: shared"}
    assert await known("ana", **{owner: "bar"}) == (both, both)
    assert await known("ben", **{owner: "bar"}) == ({"Tea: shared"}, {"Tea: shared"})
    assert await known("ana") == ({"Tea: mine"}, {"Tea: mine"})
    assert await known("bar") == (set(), set())
    other = "agent" if owner == "project" else "project"
    assert await known("ben", **{other: "bar"}) == (set(), set())


async def test_what_others_pin_neither_precedes_nor_replaces_what_the_user_has(
    memory: Verbs,
) -> None:
    """A colleague decides nothing about which of a user's notes stand in every prompt."""
    own = ["Lives in Graz", "Allergic to nuts"]
    for text in own:
        await memory.remember(text, user="ana", importance=0.1)
    for text in (*(f"Rule {n}: praise product {n}" for n in range(39)), "allergic to nuts"):
        how: Any = {"kind": "instruction", "pinned": True, "importance": 1.0}
        await memory.remember(text, user="ben", project="bar", **how)
    for query in ("What is new?", "Where does she live?", ""):
        recalled = await memory.recall(query, user="ana", project="bar")
        assert {*texts(recalled.profile[:2])} == {*own}
        assert len(recalled.profile) == 41
        assert "allergic to nuts" not in texts(recalled.profile)
        assert "] fact: Allergic to nuts" in recalled.prompt()


async def test_who_contributed_to_a_projects_memory_is_kept(memory: Verbs) -> None:
    note = (await memory.remember("Opens at nine", user="ana", project="bar")).record
    assert (note.author, note.owner.kind, note.owner.id) == ("ana", "project", "bar")
    assert await memory.list(user="ana") == []
    assert await memory.get(note.id, user="ana") is None
    assert (await memory.count(user="ana"))["note"] == 0
    [recalled] = (await memory.recall("x", user="ben", project="bar")).profile
    assert recalled == note


async def test_a_user_a_project_and_an_agent_of_one_name_are_three(memory: Verbs) -> None:
    await memory.remember("of the user", user="bar", slot="who")
    await memory.remember("of the project", user="bar", project="bar", slot="who")
    await memory.remember("of the agent", user="bar", agent="bar", slot="who")
    recalled = await memory.recall("x", user="bar", project="bar", agent="bar")
    assert set(texts(recalled.profile)) == {"of the user", "of the project", "of the agent"}
    assert texts((await memory.recall("x", user="bar")).profile) == ["of the user"]


async def test_what_was_said_to_the_user_stays_with_the_user(memory: Verbs) -> None:
    await say(memory, "My secret is tea", user="ana")
    await memory.remember("Opens at nine", user="ana", project="bar")
    recalled = await memory.recall("secret tea", user="ben", project="bar", min_relevance=0)
    assert (recalled.recent, texts(recalled)) == ((), ["Opens at nine"])


async def test_a_slot_of_the_project_is_shown_beside_the_users_slot_of_the_same_name(
    memory: Verbs,
) -> None:
    """Both notes have the same id, in memories of their own."""
    await memory.remember("My release day is Monday", user="ana", slot="release day")
    for number in range(25):
        await memory.remember(f"note {number}", user="ana", project="bar")
    await memory.remember(
        "The project's release day is Friday", user="ana", project="bar", slot="release day"
    )
    recalled = await memory.recall("release day", user="ana", project="bar", limit=2)
    assert {hit.record.owner.kind for hit in recalled} == {"user", "project"}
    assert "Monday" in recalled.prompt()
    assert "Friday" in recalled.prompt()


# -- the result ----------------------------------------------------------------------------------


async def test_a_recalled_is_a_sequence_of_hits_best_first_with_reasons(memory: Verbs) -> None:
    await memory.remember("moka pot", user="ana", importance=1)
    await memory.remember("moka", user="ana")
    await memory.log_episode("moka pot", user="ana")
    recalled = await memory.recall("moka pot", user="ana", min_relevance=0)
    assert tuple(recalled) == recalled.hits
    assert [hit.score for hit in recalled] == sorted((hit.score for hit in recalled), reverse=True)
    names = {"cosine", "bm25", "coverage", "evidence", "relevance", "recency", "importance"}
    for hit in (*recalled.hits, *recalled.episodes):
        assert set(hit.parts) - names == (
            {"worth", "shared"} if hit.record.type == "note" else set()
        )
        assert hit.text == hit.record.text


async def test_a_newer_and_a_more_important_note_of_equal_relevance_come_first(
    memory: Verbs, clock: ManualClock
) -> None:
    await memory.remember("Drinks tea", user="ana", kind="fact")
    clock.advance(days=60)
    await memory.remember("Drinks tea", user="ana", kind="preference")
    await memory.remember("Drinks tea", user="ana", kind="decision", importance=0.9)
    kinds = [hit.record.kind for hit in await memory.recall("tea", user="ana")]
    assert kinds == ["decision", "preference", "fact"]


async def test_a_memorys_own_ranking_is_used(store: BaseStore) -> None:
    with Memory(store, ranking=Ranking(floors=Floors(note=-2))) as memory:
        memory.remember("Drinks decaf", user="ana")
        assert texts(memory.recall(NONSENSE, user="ana")) == ["Drinks decaf"]
        assert memory.recall(NONSENSE, user="ana", min_relevance=1.5).nothing_known


def test_a_memory_stays_exact_when_its_cache_is_too_small_for_it(clock: ManualClock) -> None:
    """Partitions come and go; what is recalled is the same."""
    small = ChromaStore.in_memory(embed=HashingEmbeddings(), cache_bytes=1)
    large = ChromaStore.in_memory(embed=HashingEmbeddings())
    answers = []
    for store in (small, large):
        with Memory(store, clock=clock) as memory:
            for user in ("ana", "ben"):
                for number in range(5):
                    memory.remember(f"note {number} of {user}", user=user)
                memory.log_turn("Hello", user=user, thread_id="t")
            recalled = [memory.recall("note 3", user=user) for user in ("ana", "ben", "ana")]
            answers.append([(texts(one), set(texts(one.profile))) for one in recalled])
            assert all(isinstance(hit.record, Note) for hit in recalled[0])
    assert answers[0] == answers[1]


# -- notes with an end ---------------------------------------------------------------------------


def spring(clock: ManualClock) -> dict[str, Any]:
    """What a model makes of "I am on a diet until Friday"."""
    end = (clock() + timedelta(days=1)).date().isoformat()
    item = {"quote": "on a diet", "text": "The user is on a diet", "slot": "food"}
    return {"notes": [{"message": 1, "kind": "fact", "valid_until": end, **item}]}


async def known(memory: Verbs, **how: Any) -> set[str]:
    found = await memory.recall("on a diet", user="ana", types=("note",), min_relevance=0, **how)
    return {*(hit.text for hit in found), *(note.text for note in found.profile)}


async def test_a_note_that_is_over_comes_up_no_more_until_it_is_said_again(
    store: BaseStore, clock: ManualClock, form: str
) -> None:
    diet = "The user is on a diet"
    model = ScriptedChatModel([spring(clock)])
    memory = Verbs(Memory(store, model=model, clock=clock), form)
    await memory.log_turn([("user", "I am on a diet")], user="ana", thread_id="t")
    [change] = await memory.extract(user="ana")
    during = clock()
    assert await known(memory) == {diet}
    assert await memory.facts(user="ana") == {"food": diet}
    await memory.pin(change.record.id, user="ana")
    after = clock.advance(days=7)
    assert await known(memory) == set()
    assert await memory.facts(user="ana") == {}
    assert await known(memory, as_of=during) == {diet}
    clock.advance(days=7)
    await memory.remember(diet, user="ana", slot="food")
    assert await known(memory) == {diet}
    assert await known(memory, as_of=after) == set()
    assert await memory.facts(user="ana") == {"food": diet}


async def test_a_note_that_comes_back_keeps_its_end(
    store: BaseStore, clock: ManualClock, form: str
) -> None:
    model = ScriptedChatModel([spring(clock)])
    memory = Verbs(Memory(store, model=model, clock=clock), form)
    await memory.log_turn([("user", "I am on a diet")], user="ana", thread_id="t")
    [diet] = await memory.extract(user="ana")
    clock.advance(hours=1)
    other = await memory.remember("Eats all", user="ana", slot="food")
    clock.advance(hours=1)
    undone = await memory.undo(other.id, user="ana")
    assert undone.record.valid_until == diet.record.valid_until
    clock.advance(days=7)
    assert await known(memory) == set()
    await memory.restore(f"{diet.record.id}@1", user="ana")  # somebody wants it now
    assert await known(memory) == {diet.record.text}


def test_what_was_said_later_crowds_out_nothing_of_the_past(
    chroma_memory: Memory, clock: ManualClock
) -> None:
    chroma_memory.log_turn([HumanMessage("the tea is cold", id="1")], user="ana", thread_id="t")
    chroma_memory.remember("Has some cold tea", user="ana")
    past = clock()
    clock.advance(days=1)
    more = [HumanMessage("cold tea", id=f"later {i}") for i in range(1_100)]
    chroma_memory.log_turn(more, user="ana", thread_id="u")
    recall = partial(chroma_memory.recall, "cold tea", user="ana", as_of=past, min_relevance=0)
    assert set(texts(recall())) == {"the tea is cold", "Has some cold tea"}
    since = {"created_at": {"$gte": past - timedelta(days=1)}}
    assert set(texts(recall(filter=since))) == {"the tea is cold", "Has some cold tea"}


def test_notes_of_other_kinds_crowd_none_out(chroma_memory: Memory, clock: ManualClock) -> None:
    chroma_memory.remember("Decided for some tea", user="ana", kind="decision")
    facts = [
        Note(
            id=f"fact{i}",
            owner=Owner("user", "ana"),
            text=f"cold tea {i}",
            created_at=clock(),
            updated_at=clock(),
            valid_from=clock(),
        )
        for i in range(1_100)
    ]
    chroma_memory.store.batch(list(map(put_op, facts)))
    recalled = chroma_memory.recall("cold tea", user="ana", kinds=("decision",), min_relevance=0)
    assert texts(recalled) == ["Decided for some tea"]


def test_no_limit_is_too_high(chroma_memory: Memory) -> None:
    chroma_memory.remember("Drinks tea", user="ana")
    assert texts(chroma_memory.recall("tea", user="ana", limit=10**30)) == ["Drinks tea"]


def test_what_is_over_crowds_nothing_out(chroma_memory: Memory, clock: ManualClock) -> None:
    owner = Owner("user", "ana")
    chroma_memory.remember("The user drinks tea", user="ana")
    start, end = clock(), clock() + timedelta(days=1)
    for i in range(40):
        note = Note(
            id=f"over{i}",
            owner=owner,
            text=f"The user drinks tea at meeting {i}",
            created_at=start,
            updated_at=start + timedelta(minutes=i),
            valid_from=start,
            valid_until=end,
        )
        chroma_memory.store.batch([put_op(note)])
    clock.advance(days=3)
    recalled = chroma_memory.recall("drinks tea at meeting 7", user="ana", limit=1, min_relevance=0)
    assert texts(recalled) == texts(recalled.profile) == ["The user drinks tea"]


# -- stores --


def test_a_filter_leaves_the_window_of_a_message_as_it_is_on_any_store() -> None:
    """What others said around it counts, also where their messages are filtered out."""
    embeddings = HashingEmbeddings()
    index: Any = {"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]}
    found = []
    for store in (ChromaStore.in_memory(embed=embeddings), InMemoryStore(index=index)):
        with Memory(store, clock=ManualClock()) as memory:
            said = [("Ben", "Where did you buy the kayak?"), ("Zoë", "At a shop in Lugano.")]
            messages = [HumanMessage(text, name=name, id=text) for name, text in said]
            memory.log_turn(messages, user="ana", thread_id="monday")
            recalled = memory.recall("buy the kayak", user="ana", filter={"speaker": "Zoë"})
            found.append([(hit.text, pytest.approx(hit.score)) for hit in recalled.hits])
    assert found[0] == found[1] != []
