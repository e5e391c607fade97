"""Why something was recalled, and why not, for a person to read."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory import Memory
from langgraph_memory.retrieval.block import memory_block
from langgraph_memory.retrieval.recalled import Recalled
from tests.retrieval.test_block import recalls

WHY = re.compile(
    r", (in the block|left out: (?:a question, small talk or a denial|said already|no room))$"
)


def lines_of(recalled: Recalled, section: str, max_tokens: int = 1_000) -> list[str]:
    """Return the lines of a section of an explanation."""
    lines: dict[str, list[str]] = {}
    name = ""
    for line in recalled.explain(max_tokens).splitlines():
        if line.startswith("  "):
            lines[name].append(line)
        else:
            name = line.removesuffix(":")
            lines[name] = []
    return lines.get(section, [])


@given(recalls(), st.integers(0, 400))
def test_of_every_record_it_is_told_whether_it_is_in_the_block_of_that_budget(
    recalled: Recalled, budget: int
) -> None:
    shown = {record.id for record in memory_block(recalled, budget).records}
    sections = {
        "known": [hit.record.id for hit in recalled.hits],
        "perhaps": [hit.record.id for hit in recalled.perhaps],
        "profile": [note.id for note in recalled.profile],
        "stated": [hit.record.id for hit in recalled.stated],
        "past tasks": [hit.record.id for hit in recalled.episodes],
    }
    for name, ids in sections.items():
        lines = lines_of(recalled, name, budget)
        assert len(lines) == len(ids)
        for line, id in zip(lines, ids, strict=True):
            assert re.search(rf"(?:note|message|episode) {id}  ", line)
            [why] = WHY.findall(line)
            assert (why == "in the block") == (id in shown)


def test_each_degree_is_told_with_what_it_is_made_of_and_what_lies_below_which_floor(
    chroma_memory: Memory,
) -> None:
    chroma_memory.remember("Has a moka pot", user="ana", slot="pot", pinned=True)
    chroma_memory.remember("Is allergic to nuts", user="ana", importance=0.9)
    chroma_memory.log_turn("Where does the moka stand?", user="ana", thread_id="t")
    chroma_memory.log_episode("Repair the moka pot", user="ana", error="no seal")
    recalled = chroma_memory.recall("moka pot", user="ana")
    [known] = lines_of(recalled, "known")
    assert "  note " in known
    assert "'Has a moka pot'" in known
    for name, value in recalled.hits[0].parts.items():
        assert f"{name} {value:.2f}" in known or not value or math.isinf(value)
    asked, nuts = lines_of(recalled, "perhaps")
    assert re.search(r"evidence 0\.30 is below the floor of 0\.50, in the block", asked)
    assert re.search(r"evidence -?0\.\d\d is below the floor of 0\.17, in the block", nuts)
    pot, nuts = lines_of(recalled, "profile")
    assert "(pinned, fact, slot pot, importance 0.50, mentions 1), in the block" in pot
    assert "(fact, importance 0.90, mentions 1), in the block" in nuts
    [task] = lines_of(recalled, "past tasks")
    assert "Repair the moka pot" in task


def test_what_is_left_out_says_why(chroma_memory: Memory) -> None:
    for text in ("Where is my cat?", "My cat is in the kitchen", "My cat eats fish."):
        chroma_memory.log_turn([("user", text)], user="ana", thread_id=text)
    chroma_memory.log_turn([("user", "Good morning")], user="ana", thread_id="last")
    chroma_memory.remember("my cat eats fish.", user="ana")
    recalled = chroma_memory.recall("my cat", user="ana")
    why = {
        line.split("'")[1]: WHY.findall(line)[0]
        for line in lines_of(recalled, "known") + lines_of(recalled, "perhaps")
    }
    assert why["Where is my cat?"] == "left out: a question, small talk or a denial"
    assert why["My cat is in the kitchen"] == "in the block"
    assert {why["my cat eats fish."], why["My cat eats fish."]} == {
        "in the block",
        "left out: said already",
    }
    assert "left out: no room" in recalled.explain(max_tokens=60)
    assert "in the block" not in recalled.explain(max_tokens=0)
