"""The benchmark of LoCoMo: what it reads, asks and counts, on conversations that are made up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import locomo
from benchmarks.locomo_blocks import read_in_blocks, words_in
from benchmarks.locomo_contenders import CONTENDERS, Contender, Ours, contenders, kept
from benchmarks.locomo_data import Conversation, evidence_ids, read, renamed
from benchmarks.locomo_weights import Parts, chosen_elsewhere, contributions, fit
from benchmarks.retrieval_scores import Answer, curve, scores, spread
from langgraph_memory.messages.langchain import words
from langgraph_memory.testing import HashingEmbeddings
from tests.benchmarks.made_up import SAMPLES, write

# langmem imports by names that LangGraph has given up.
pytestmark = pytest.mark.filterwarnings("ignore:Importing Send from langgraph.constants")

HASHING = HashingEmbeddings()


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    return read(write(tmp_path))


def test_messages_have_their_id_speaker_and_time(conversations: list[Conversation]) -> None:
    boat, bread = conversations
    assert [session.id for session in boat.sessions] == ["session-1", "session-2"]
    assert [session.at.isoformat() for session in boat.sessions] == [
        "2024-03-03T09:05:00+00:00",
        "2024-04-11T19:30:00+00:00",
    ]
    first = boat.sessions[0].messages[0]
    assert (first.id, first.name) == ("D1:1", "Ilka")
    assert bread.dated["D1:2"] == "[20 June 2024] Ruben: I burnt my thumb on the oven door."


def test_a_picture_is_a_block_with_its_caption_and_not_with_annotations(tmp_path: Path) -> None:
    path = write(tmp_path)
    with_captions, without = (
        read(path, captions)[0].sessions[0].messages[1] for captions in (True, False)
    )
    assert words(with_captions) == "Who painted the hull?\n[image: a green boat on a trailer]"
    assert words(without) == "Who painted the hull?"


def test_only_questions_with_evidence_are_asked(conversations: list[Conversation]) -> None:
    boat = conversations[0]
    assert [(q.category, sorted(q.evidence)) for q in boat.questions] == [
        (1, ["D1:1", "D1:3"]),
        (2, ["D2:1"]),
    ]
    assert boat.adversarial == ("Which goat did Bene adopt?",)
    assert [sorted(ids) for _, ids in boat.observations] == [["D1:1"], ["D2:1", "D2:2"]]


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        (["D1:1", "D1:1"], ["D1:1"]),
        (["D1:1; D2:3 D2:4,D2:5"], ["D1:1", "D2:3", "D2:4", "D2:5"]),
        (["D:1:01"], ["D1:1"]),
        (["D", "", "D7:7", None], []),
    ],
)
def test_evidence_is_put_right(raw: list[object], ids: list[str]) -> None:
    known = {"D1:1", "D2:3", "D2:4", "D2:5"}
    assert sorted(evidence_ids(raw, known)) == ids


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not in LoCoMo's format"):
        read(write(tmp_path, [{"messages": []}]))


def test_names_are_replaced_whole_or_shortened() -> None:
    asked = renamed(
        "Will Ben lend Ilka's Bench to Benedikt?", ["Ilka", "Benedikt"], ["Oda", "Ilka"]
    )
    assert asked == "Will Ilka lend Oda's Bench to Ilka?"


def answer(found: str, evidence: str, conversation: str = "c") -> Answer:
    return Answer(conversation, 1, frozenset(evidence), list(found), tokens=10)


def test_scores_are_means_over_questions() -> None:
    found = scores([answer("abx", "ab"), answer("xxxxxa", "ab"), answer("", "a")])
    assert found == {
        "questions": 3,
        "R@5": 0.3333,
        "R@10": 0.5,
        "R@20": 0.5,
        "hit@10": 0.6667,
        "all@10": 0.3333,
        "MRR": 0.3889,
        "tokens": 10,
    }
    assert scores([])["R@10"] is None


def test_the_spread_is_that_of_conversations() -> None:
    answers = [answer("a", "a"), answer("", "a"), answer("", "b", "other")]
    assert spread(answers) == {"lowest": 0.0, "highest": 0.5}
    assert curve([answer("xa", "a")])[:3] == [0.0, 1.0, 1.0]


IN_BENCH = {"mem0": "mem0", "langmem": "langmem", "langchain-chroma": "langchain_chroma"}


@pytest.mark.parametrize("name", CONTENDERS)
def test_each_contender_finds_a_conversation_s_own_messages(
    name: str, tmp_path: Path, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in IN_BENCH and find_spec(IN_BENCH[name]) is None:
        pytest.skip("not installed: pip install --group bench")
    for variable in ("MEM0_TELEMETRY", "MEM0_DIR"):
        monkeypatch.setenv(variable, "")  # mem0 sets them for good: put back afterwards
    boat, bread = conversations
    opened = contenders(HASHING, tmp_path)[name]
    with kept(opened, conversations) as contender:
        assert contender.find("Who adopted a tortoise named Pumpernickel?", boat)[0] == "D2:1"
        assert contender.find("rye sourdough rose nineteen hours", bread)[0] == "D1:1"
        assert set(contender.find("rye sourdough rose nineteen hours", boat)) <= set(boat.said)


def lines_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_the_command_prints_a_json_object_a_line_and_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(directory: Path, embeddings: object) -> Contender:
        raise ImportError("No module named 'mem0'")

    monkeypatch.setattr("benchmarks.locomo_contenders.Mem0", missing)
    names = ["ours", "langgraph", "bm25", "mem0"]
    locomo.main(["--data", str(write(tmp_path)), "--embed", "hashing", "--only", *names])
    out, tables = capsys.readouterr()
    lines = lines_of(out)
    measured = [line for line in lines if line["name"] == "locomo"]
    assert {line["contender"] for line in measured} == {"ours", "langgraph", "bm25"}
    for name in ("ours", "langgraph", "bm25"):
        of_it = [line for line in measured if line["contender"] == name]
        cut = [(line["category"], line["conversation"], line["questions"]) for line in of_it]
        assert cut == [
            ("all", "all", 4),
            ("multi-hop", "all", 1),
            ("temporal", "all", 1),
            ("open-domain", "all", 0),
            ("single-hop", "all", 2),
            ("all", "boat", 2),
            ("all", "bread", 2),
        ]
    assert {line["R@5"] for line in measured if line["conversation"] == "bread"} == {1.0}
    assert [line["contender"] for line in lines if line["name"] == "missing"] == ["mem0"]
    assert "mem0 is left out: No module named 'mem0'" in tables
    assert "| langgraph_memory | Memory.recall |" in tables
    assert "| the block | questions | evidence |" in tables


def test_the_block_of_a_node_is_looked_through_for_evidence_and_for_the_answer(
    conversations: list[Conversation],
) -> None:
    with kept(lambda: Ours(HASHING), conversations[1:]) as ours:
        lines = {line["category"]: line for line in read_in_blocks(ours, conversations[1:])}
    assert lines["single-hop"]["questions"] == 2
    assert lines["single-hop"]["evidence"] == 1
    assert lines["single-hop"]["tokens"] > 0
    assert lines["multi-hop"]["evidence"] is None


def test_words_of_an_answer_are_looked_for_in_lines_alone() -> None:
    block = "<memory>\nRelevant bread:\n- [2024-06-20] Oda: rye again\n</memory>"
    assert words_in("the rye bread", block) == 0.5
    assert words_in("the", block) is None
    assert words_in("rye", "") == 0


def test_a_file_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        locomo.main(["--data", str(tmp_path / "nowhere.json")])
    assert "there is no file" in capsys.readouterr().err


# -- weights -------------------------------------------------------------------------------------


def parts(conversation: Conversation, telling: Sequence[Sequence[float]]) -> Parts:
    """Parts of a question a row: one that tells the evidence, and one that tells nothing."""
    ids = list(conversation.said)[: len(telling[0])]
    values = np.stack([np.array(telling), np.ones((len(telling), len(ids)))], axis=2)
    evidence = np.array([[id in q.evidence for id in ids] for q in conversation.questions])
    return Parts(conversation, ids, values, np.zeros(evidence.shape), evidence)


def test_a_part_that_tells_the_evidence_gets_the_weight(conversations: list[Conversation]) -> None:
    boat, bread = conversations
    telling = [parts(boat, [[1, 0, 1, 0], [0, 0, 0, 1]]), parts(bread, [[1, 0, 0], [0, 1, 0]])]
    first, second = fit(telling)
    assert first == pytest.approx(2)
    assert second == pytest.approx(0, abs=1e-6)
    for left_out, _, answers in chosen_elsewhere(telling):
        assert {answer.conversation for answer in answers} == {left_out.conversation.id}
        assert scores(answers)["all@10"] == 1
        assert [answer.found[0] in answer.evidence for answer in answers] == [True, True]
    assert fit([each.without(1) for each in telling]).tolist() == [1.0]


def test_a_weighted_sum_is_checked() -> None:
    weights = {"lexical": 0.1, "named": 0.4}
    assert contributions({"bm25": 5.0, "named": 1.0, "relevance": 0.9}, weights) == [0.5, 0.4]
    with pytest.raises(ValueError, match="no weighted sum"):
        contributions({"bm25": 5.0, "named": 1.0, "relevance": 0.7}, weights)


def test_the_defaults_out_of_parts_are_what_recall_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--data", str(write(tmp_path)), "--embed", "hashing", "--only", "ours"]
    locomo.main([*command, "--cross-validate"])
    lines = lines_of(capsys.readouterr().out)
    whole = [line for line in lines if line.get("conversation") == line.get("category") == "all"]
    by_name = {line["name"]: line for line in whole}
    if "defaults" not in by_name:
        pytest.skip("the ranking is no weighted sum of parts")
    for figure in ("R@5", "R@10", "MRR"):
        assert by_name["defaults"][figure] == by_name["locomo"][figure]
    assert by_name["cross-validated"]["questions"] == len(SAMPLES) * 2
    chosen = [line for line in lines if line["name"] == "cross-validated"]
    of_all = [line["conversation"] for line in chosen if line["category"] == "all"]
    assert of_all == ["boat", "bread", "all"]
    weights = by_name["defaults"]["weights"]
    assert [line["weight"] for line in lines if line["name"] == "without"] == list(weights)
