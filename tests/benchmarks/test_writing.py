"""What keeping a turn costs: the conversation, the counts, and the peers where they are there."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import writing
from benchmarks.dialogues import dialogues
from benchmarks.writing import WRITERS, conversation
from benchmarks.writing_peers import Script, say
from langgraph_memory.testing import HashingEmbeddings

# langmem imports by names that LangGraph has given up.
pytestmark = pytest.mark.filterwarnings("ignore:Importing Send from langgraph.constants")

# Which package each needs; not `importorskip`: mem0 reads, when imported, whether to call home.
PACKAGES = {
    "ours": "langgraph_memory",
    "ours, later": "langgraph_memory",
    "langmem": "langmem",
    "langmem, later": "langmem",
    "mem0": "mem0",
}
each_writer = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                find_spec(package) is None, reason="not installed: pip install --group bench"
            ),
        )
        for name, package in PACKAGES.items()
    ],
)


def test_the_conversation_has_each_label_once() -> None:
    turns = conversation(1_000)
    said = [label.text for turn in turns for label in turn.labels]
    assert sorted(said) == sorted(label.text for each in dialogues() for label in each.keep)


@each_writer
def test_each_way_keeps_all_that_the_model_answers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # mem0's are set for good when it is opened: afterwards they are again what they were.
    monkeypatch.setenv("MEM0_TELEMETRY", "")
    monkeypatch.setenv("MEM0_DIR", "")
    turns = conversation(3)
    writer = WRITERS[name](tmp_path, HashingEmbeddings(dims=512), Script(0.0))
    try:
        for turn in turns:
            say(writer, turn)
            writer.settle()
        assert writer.counts()["notes"] == sum(len(turn.labels) for turn in turns) > 0
        assert writer.script.calls >= len(turns)
    finally:
        writer.close()


@pytest.mark.slow
def test_the_command_prints_a_line_for_each_way(capsys: pytest.CaptureFixture[str]) -> None:
    writing.main(["--turns", "2", "--model-ms", "1", "--embed", "hashing"])
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert len(lines) == len(WRITERS)
    by_call = {line["call"]: line for line in lines if line["name"] == "turn"}
    foreground = by_call["with_memory"]
    later = by_call["with_memory, background=True"]
    assert foreground["ratio"] == 1
    for what in ("calls", "records", "notes"):
        assert foreground[what] == later[what] > 0
    skipped = [line for line in lines if line["name"] == "skipped"]
    assert all(line["writer"] and line["reason"] for line in skipped)
    assert len(by_call) + len(skipped) == len(lines)
    assert all(f"`{call}`" in printed.err for call in by_call)
