"""The labelled episodes and new tasks: as their README says; not that labels are right."""

from __future__ import annotations

import re
from collections import Counter

from benchmarks.labelled import read
from langgraph_memory.records.records import OUTCOMES

HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH = ("code", "data", "travel", "ops")
CHINESE = ("coffee", "office", "research", "health")


EPISODES = {episode["id"]: episode for episode in read("episodes.jsonl")}
TASKS = read("tasks.jsonl")


def script(text: str) -> str:
    return "zh" if HAN.search(text) else "en"


def test_each_world_has_18_episodes_and_one_of_them_in_the_other_language() -> None:
    counts = Counter((episode["world"], episode["language"]) for episode in EPISODES.values())
    main = {**dict.fromkeys(ENGLISH, ("en", "zh")), **dict.fromkeys(CHINESE, ("zh", "en"))}
    assert counts == {
        (world, language): each
        for world, languages in main.items()
        for language, each in zip(languages, (17, 1), strict=True)
    }


def test_episodes_are_well_formed() -> None:
    assert len(EPISODES) == len(read("episodes.jsonl"))
    for id, episode in EPISODES.items():
        assert list(episode) == "id world language task approach outcome notes error".split()
        assert id.startswith(episode["world"] + "-e")
        assert episode["outcome"] in OUTCOMES
        assert script(episode["task"]) == script(episode["approach"]) == episode["language"], id
        assert all(episode[key] == episode[key].strip() for key in ("task", "approach", "notes"))
        assert episode["error"] is None or episode["error"].strip()


def test_outcomes_are_as_many_as_stated() -> None:
    outcomes = {"success": 94, "completed": 17, "partial": 15, "failure": 13, "cancelled": 5}
    assert Counter(episode["outcome"] for episode in EPISODES.values()) == outcomes


def test_tasks_are_as_many_as_stated_by_language_and_half() -> None:
    assert Counter(task["language"] for task in TASKS) == {"en": 65, "zh": 70, "mixed": 23}
    assert Counter(len(task["relevant"]) for task in TASKS) == {1: 135, 2: 7, 0: 16}
    for language in ("en", "zh", "mixed"):
        for answered in (True, False):
            alike = [
                t for t in TASKS if t["language"] == language and any(t["relevant"]) == answered
            ]
            halves = Counter(task["half"] for task in alike)
            assert abs(halves["a"] - halves["b"]) <= 1, (language, answered)


def test_tasks_name_episodes_of_their_own_world_once() -> None:
    assert len({task["id"] for task in TASKS}) == len(TASKS)
    for task in TASKS:
        assert list(task) == "id world language task relevant half".split()
        assert task["id"].startswith(task["world"] + "-q")
        assert len(set(task["relevant"])) == len(task["relevant"])
        assert {EPISODES[id]["world"] for id in task["relevant"]} <= {task["world"]}, task["id"]


def test_a_mixed_task_crosses_languages_and_others_do_not() -> None:
    for task in TASKS:
        written = script(task["task"])
        known = {EPISODES[id]["language"] for id in task["relevant"]}
        crossing = bool(known) and written not in known
        assert task["language"] == ("mixed" if crossing else written), task["id"]


def test_no_task_is_there_twice() -> None:
    texts = [row["task"].casefold() for row in (*EPISODES.values(), *TASKS)]
    assert [text for text, times in Counter(texts).items() if times > 1] == []
