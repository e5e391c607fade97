"""The benchmark of a month: what is said and asked, and what counts as read, on a made-up month."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from benchmarks import life
from benchmarks.life import Setting, beside, live
from benchmarks.life_answers import answers
from benchmarks.life_month import ASKED, TOLD, Fact, Person, Turn, month
from benchmarks.life_peers import PEERS, cut
from benchmarks.life_scores import asked, lines_of, other_figures, says_nothing, spans
from benchmarks.locomo_peers import SameEmbeddings
from langgraph_memory.retrieval.block import NOTHING_KNOWN
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel

HASHING = HashingEmbeddings()


def fact(id: str, said: str, note: str, question: str, repeats: str) -> Fact:
    questions = [f"{question} {wording}?" for wording in ("really", "honestly", "truly")]
    return Fact(id, "fact", said, note, questions, repeats, "Let me see.")


PEAR = fact("f1", "By the way, pears make me ill.", "Cannot eat pears.", "pears ill", "No pears.")
BOAT = fact(
    "f2", "We sold the blue boat, sadly.", "Sold the boat.", "sold boat", "The boat is sold."
)
MOON = fact(
    "f3", "My cat Moon is nine now.", "The cat Moon is nine.", "cat moon age", "Moon is nine."
)
CROWD = [
    Turn("statement", "The tram was late.", "Again?"),
    Turn("order", "Close the blinds.", "Closed."),
    Turn("small talk", "Hello!", "Hello."),
    Turn("question", "Who wrote Emma?", "Jane Austen."),
]
ANA = Person(
    "en", [PEAR, BOAT, MOON], CROWD, ["Likes rye.", "Owns a kite."], ["Why is snow white?"]
)
BLOCK = f"""<memory>
What is remembered.
Known:
- [2026-03-01] fact: Likes rye.
Relevant to this message:
- [2026-03-02] user: By the way, pears make me ill.
{NOTHING_KNOWN}
</memory>"""


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A month with one question a day, which is over sooner."""
    monkeypatch.setattr("benchmarks.life_month.A_DAY", 1)


def test_a_month_tells_each_fact_once_and_asks_for_all_in_all_wordings() -> None:
    turns = month(ANA, crowd=4)
    assert sorted(turn.at for turn in turns) == [turn.at for turn in turns]
    told = [turn for turn in turns if turn.kind == TOLD]
    assert Counter(turn.text for turn in told) == {each.said: 1 for each in ANA.facts}
    assert {turn.day for turn in told} == {1, 2, 3}
    questions = [turn for turn in turns if turn.kind == ASKED]
    assert Counter(turn.day for turn in questions) == dict.fromkeys(range(4, 34), 5)
    wordings = {text for each in ANA.facts for text in each.questions}
    assert {turn.text for turn in questions} == wordings
    assert len({turn.thread for turn in questions}) == 150
    vague = sum(turn.answer == "Let me see." for turn in questions)
    assert abs(vague - 75) <= 3
    assert sum(turn.fact is None for turn in turns) == 4
    assert not [turn for turn in month(ANA, 4, told=False) if turn.kind == TOLD]


def test_a_fact_that_is_there_counts_with_its_line_and_one_that_is_not_does_not() -> None:
    there = asked(4, PEAR, "pears?", BLOCK)
    assert (there.place, there.told, there.perhaps, there.day) == (2, True, False, 1)
    missing = asked(14, BOAT, "boat?", BLOCK)
    assert (missing.place, missing.told) == (None, False)
    repeated = asked(24, MOON, "moon?", "- [2026-03-04] assistant: Moon is nine.")
    assert (repeated.place, repeated.told) == (None, True)
    figures = {line["days"]: line for line in spans([there, missing, repeated])}
    assert figures["all"]["held"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["all"]["told"] == pytest.approx(2 / 3, abs=1e-4)
    assert [figures[days]["held"] for days in ("1-10", "11-20", "21-30")] == [1, 0, 0]
    assert [figures[days]["refused"] for days in ("1-10", "21-30")] == [1, 0]
    assert figures["1-10"]["place"] == 2


def test_what_is_said_in_a_heading_or_outside_of_lines_is_not_held() -> None:
    assert asked(4, PEAR, "pears?", f"{PEAR.said}\n- something else").place is None
    headings = ("Known:", "Relevant to this message:")
    assert tuple(heading for heading, _ in lines_of(BLOCK)) == headings


def test_what_is_uncertain_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.life_scores.PERHAPS", "Relevant to this message:")
    assert asked(4, PEAR, "pears?", BLOCK).perhaps
    model = ScriptedChatModel(
        ["You like pears that make ill.", "wrong", "I do not know.", "Rye", "right"]
    )
    counted = answers(model, [asked(4, PEAR, "pears?", BLOCK)] * 3)
    assert counted == {"answers": 3, "right": 1, "wrong": 1, "unknown": 1, "wrong_from_perhaps": 1}


def test_an_empty_block_says_nothing() -> None:
    assert says_nothing("")
    assert says_nothing(BLOCK)
    assert not says_nothing("<memory>\n- [2026-03-01] fact: Likes rye.\n</memory>")
    figures = other_figures([BLOCK, "- x"], [("small talk", "- ab"), ("order", "- abcdefgh")])
    assert (figures["nothing"], figures["greeting_tokens"], figures["other_tokens"]) == (0.5, 1, 3)


@pytest.mark.usefixtures("quiet")
def test_notes_alone_keep_nothing_of_what_is_said() -> None:
    lived = live(ANA, Setting("notes", crowd=2, notes=tuple(ANA.notes)), HASHING)
    assert not any("user:" in block for _, block in lived.turns)
    assert all(each.place for each in lived.asked)  # five notes are few enough to be shown always


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_what_was_said_within_the_tokens(name: str) -> None:
    if name == "langchain-chroma" and find_spec("langchain_chroma") is None:
        pytest.skip("not installed: pip install --group bench")
    setting = Setting("messages", crowd=4)
    lived = live(ANA, setting, HASHING)
    assert lived.asked[0].told
    found = beside(ANA, setting, lived, name, SameEmbeddings(HASHING))
    assert [len(each) for each in found.values()] == [30, 30]
    assert found[1_000][0].place
    assert cut(["one", "two"], 3) == "- one"


@pytest.mark.usefixtures("quiet")
def test_the_command_reports_each_month_by_ten_days(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "person", lambda language, half: ANA)
    asked_for = [
        "--language",
        "en",
        "--half",
        "a",
        "--crowd",
        "4",
        "--notes",
        "4",
        "--only",
        "ours",
    ]
    life.main([*asked_for, "--mode", "messages", "notes", "--embed", "hashing"])
    out, tables = capsys.readouterr()
    lines: list[Mapping[str, Any]] = [json.loads(line) for line in out.splitlines()]
    months = [line for line in lines if line["name"] == "life"]
    modes = [(line["mode"], line["crowd"], line["notes"], line["days"]) for line in months]
    spans = ("all", "1-10", "11-20", "21-30")
    cut = [("messages", 4, 0), ("notes", 4, 4)]
    assert modes == [(*setting, days) for setting in cut for days in spans]
    assert [line["questions"] for line in months] == [30, 10, 10, 10] * 2
    assert [line["mode"] for line in lines if line["name"] == "life.other"] == ["messages", "notes"]
    assert "| en | a | messages | 4 | 0 | ours | 1000 | 1-10 |" in tables
