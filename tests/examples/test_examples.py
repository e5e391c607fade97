"""The examples run as their pages say, without a key and without a network."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from examples import forgetting, supervisor, team
from examples.stand_ins import code, plan, research, scripted, supervise, write
from langgraph_memory import TOOLS_PROMPT, ChromaStore, Memory, SavingReply, open_sessions
from langgraph_memory.text.escaping import OPEN
from tests.graph.graphs import Way, as_user, episodes, say
from tests.no_network import NO_NETWORK
from tests.openai_server import OpenAIServer

ROOT = Path(__file__).parents[2]

DAYS = ("monday", "tuesday", "wednesday")
WITH_PROCESSES = {
    "en": ["examples.coffee_shop"],
    "resume": ["examples.resume_session"],
}
"""Two of the examples that start processes: what they remember outlives one."""
IN_ONE_PROCESS = {
    "zh": [["examples.coffee_shop", "--lang", "zh", "--step", day] for day in DAYS],
    "saving": [["examples.self_saving", "--lang", "zh", "--step", step] for step in "12"],
    "preferences": [["examples.preferences", "--step", step] for step in ("tell", "ask")],
    "existing": [["examples.existing_graph"]],
    "facts": [["examples.facts"]],
    "facts-zh": [["examples.facts", "--lang", "zh"]],
    "team": [["examples.team"]],
    "tasks": [["examples.task_agent"]],
    "tasks-zh": [["examples.task_agent", "--lang", "zh"]],
    "long": [["examples.long_chat"]] * 2,
    "long-zh": [["examples.long_chat", "--lang", "zh"]],
    "diary": [["examples.diary"]],
    "diary-zh": [["examples.diary", "--lang", "zh"]],
    "reviewer": [["examples.code_reviewer"]],
    "supervisor": [["examples.supervisor"]],
    "extraction": [["examples.extraction"]],
    "by-hand": [["examples.by_hand"]],
    "forgetting": [["examples.forgetting"]],
    "knowledge": [["examples.knowledge_base"]],
    "knowledge-zh": [["examples.knowledge_base", "--lang", "zh"]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, str]:
    """Run all examples, each in a folder of its own, and return what they printed.

    None reaches a network: what they ask of one is noted in the file `attempts`.
    """
    (folder / "sitecustomize.py").write_text(NO_NETWORK)
    env = {**os.environ, "PYTHONPATH": str(folder), "ATTEMPTS": str(folder / "attempts")}
    env = {name: value for name, value in env.items() if not name.startswith("OPENAI")}

    def run(name: str) -> str:
        module, *options = WITH_PROCESSES[name]
        command = [sys.executable, "-m", module, "--path", str(folder / name), *options]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), name
        return done.stdout

    with ThreadPoolExecutor(2) as pool:
        texts = dict(zip(WITH_PROCESSES, pool.map(run, WITH_PROCESSES), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTEMPTS", env["ATTEMPTS"])
        for method in ("connect", "connect_ex"):
            patch.setattr(socket.socket, method, getattr(socket.socket, method))
        exec(NO_NETWORK, {})
        for name, runs in IN_ONE_PROCESS.items():
            texts[name] = "".join(run_here(*run, "--path", folder / name) for run in runs)
    return texts


@contextmanager
def memory_in(folder: Path) -> Iterator[Memory]:
    """Open the one memory that an example left somewhere in a folder."""
    [database] = folder.rglob("chroma.sqlite3")
    with Memory(ChromaStore(database.parent)) as memory:
        yield memory


def run_here(module: str, *options: object) -> str:
    """Run an example in this process, and return what it printed."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(sys, "argv", [module, *map(str, options)])
        patch.delitem(sys.modules, module, raising=False)  # as in a process of its own
        runpy.run_module(module, run_name="__main__")
    return printed.getvalue()


def days(printed: str) -> list[str]:
    """Return the answers of the coffee shop's days."""
    answers = re.split(r"^c-\d+, (?:monday|tuesday|wednesday): .*\n", printed, flags=re.MULTILINE)
    return [answer.split("\nc-")[0].strip() for answer in answers[1:]]


# -- the coffee shop -----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_shop_knows_on_the_second_day_what_last_time_was(printed: dict[str, str]) -> None:
    _, second, _ = days(printed["en"])
    for known in ("Colombia", "moka", "Rosario"):
        assert known in second
    assert re.search(r"\d{4}-\d{2}-\d{2}", second)


def test_the_shop_tells_another_customer_nothing_and_asks(printed: dict[str, str]) -> None:
    first, _, other = days(printed["en"])
    for secret in ("Colombia", "moka", "Rosario"):
        assert secret not in other
    assert other.endswith("?")
    assert other == first


def test_the_shop_remembers_in_chinese(printed: dict[str, str]) -> None:
    _, second, other = days(printed["zh"])
    for known in ("哥伦比亚", "摩卡壶", "罗萨里奥"):
        assert known in second
        assert known not in other
    assert re.search(r"\d{4}-\d{2}-\d{2}", second)
    assert other.endswith("？")


def test_the_shop_shows_what_it_stores(printed: dict[str, str], folder: Path) -> None:
    shown = run_here("examples.coffee_shop", "--path", folder / "en", "--step", "show")
    shown = shown.partition("c-2291: sessions ")[2]
    assert shown.startswith(
        "tuesday, monday; {'note': 0, 'message': 4, 'episode': 2, 'document': 0}"
    )
    assert shown.count("'Hi! A kilo of Colombia, ground for a moka pot, shipped to Rosario.'") == 1
    assert "c-7004: sessions wednesday; {'note': 0, 'message': 2, 'episode': 1" in shown


def test_the_shop_run_again_gives_the_same_answers_and_stores_nothing_twice(
    printed: dict[str, str], folder: Path
) -> None:
    path = folder / "en"
    again = [run_here("examples.coffee_shop", "--path", path, "--step", day) for day in DAYS]
    assert [days(output)[0] for output in again] == days(printed["en"])
    with memory_in(path) as memory:
        assert memory.count(user="c-2291") == {"note": 0, "message": 4, "episode": 2, "document": 0}
        assert memory.count(user="c-7004") == {"note": 0, "message": 2, "episode": 1, "document": 0}


# -- the others ----------------------------------------------------------------------------------


def test_an_order_that_waits_is_confirmed_in_the_next_process_and_remembered_once(
    printed: dict[str, str], folder: Path
) -> None:
    begun, resumed = printed["resume"].split("-- resume --\n")
    assert "waiting: Shall I place this order? Two kilos of Sidamo" in begun
    assert "remembered" not in begun
    assert "ai: Placed." in resumed
    path = folder / "resume"
    for step in ("begin", "resume"):
        again = run_here("examples.resume_session", "--path", path, "--step", step)
        assert again == f"\n-- {step} --\n{resumed}"
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        assert memory.count(user="c-2291") == {"note": 0, "message": 2, "episode": 1, "document": 0}
        assert [session.thread_id for session in sessions.list("c-2291")] == ["order-17"]


@pytest.mark.parametrize(
    ("name", "summarised", "small_talk", "recalled"),
    [
        ("long", "I bought a moka pot for three cups last week.", "Thank you", "18 clicks."),
        ("long-zh", "我上周买了一个三杯份的摩卡壶。", "谢谢", "调到18格。"),
    ],
)
def test_a_long_chat_stays_short_and_what_left_it_is_summarised_and_recalled(
    printed: dict[str, str], name: str, summarised: str, small_talk: str, recalled: str
) -> None:
    first, *again = printed[name].split("said: 20 messages\n")[1:]
    assert all(each == first for each in again)
    assert "left in the conversation: 8 messages" in first
    summary, answer = first.split("summary of the others:")[1].strip().split("\n\n")
    assert summarised in summary
    assert small_talk not in summary
    assert answer.endswith(f"{recalled}\n") or answer.endswith(recalled)


def test_a_graph_that_was_there_gets_memory_by_a_few_lines(
    printed: dict[str, str], folder: Path
) -> None:
    again = run_here("examples.existing_graph", "--path", folder / "existing")
    for output in (printed["existing"], again):
        given, held = output.split("The session holds:")
        assert "Brews Sidamo in a French press" in given
        assert "What is a kilo of my usual beans?" in held
        assert "A kilo of Sidamo is 18 euros." in held
        assert "Brews Sidamo" not in held
    with memory_in(folder / "existing") as memory:
        assert memory.count(user="c-2291") == {"note": 1, "message": 4, "episode": 2, "document": 0}
        for episode in episodes(memory, "c-2291"):
            assert episode.approach == "node: chat; tools: price_of"
    source = (ROOT / "examples" / "existing_graph.py").read_text(encoding="utf-8")
    assert len([line for line in source.splitlines() if "  # memory" in line]) == 3


@pytest.mark.parametrize(
    ("run", "old", "new", "beans", "mistaken"),
    [
        ("facts", "Rosario", "Córdoba", "Colombia", "Decaf"),
        ("facts-zh", "罗萨里奥", "科尔多瓦", "哥伦比亚", "低因"),
    ],
)
def test_a_fact_that_changed_is_told_as_it_is_now_and_a_mistake_is_taken_back(
    printed: dict[str, str], run: str, old: str, new: str, beans: str, mistaken: str
) -> None:
    first, second = re.findall(r"^    - \d{4}-\d{2}-\d{2}: (.*)$", printed[run], re.MULTILINE)
    assert (first, second) == (old, new)
    by_mistake, taken_back = re.findall(r"^(?:by mistake|taken back): (.*)$", printed[run], re.M)
    assert (mistaken in by_mistake, beans in by_mistake) == (True, False)
    assert (mistaken in taken_back, beans in taken_back) == (False, True)
    assert f"version 1, superseded: {old} (new)" in printed[run]
    assert f"version 2, active: {new} (a new value for " in printed[run]
    assert printed[run].endswith(f"Known before: {old}, {beans}\n")


def test_the_facts_begin_anew_when_they_are_run_again(
    printed: dict[str, str], folder: Path
) -> None:
    assert run_here("examples.facts", "--path", folder / "facts") == printed["facts"]


def test_a_model_that_proposes_two_notes_knows_them_in_the_next_session(
    printed: dict[str, str], folder: Path
) -> None:
    first, second = printed["saving"].split("session 2:")
    assert "我叫小明，是一名后端开发工程师\n    你好，小明！很高兴认识你。\n" in first
    remembered = "  remembered:\n    - 用户叫小明\n    - 用户是一名后端开发工程师\n"
    assert first.strip().endswith(remembered.strip())
    answer = second.split("  remembered:")[0]
    assert "用户叫小明" in answer
    assert "用户是一名后端开发工程师" in answer
    assert "save_to_memory" not in printed["saving"]
    path = folder / "saving"
    again = run_here("examples.self_saving", "--path", path, "--lang", "zh", "--step", "1")
    assert again.strip() in printed["saving"]
    introduced = run_here("examples.self_saving", "--path", path, "--lang", "en", "--step", "1")
    assert introduced.count("    - The user") == 2


def test_a_preference_that_is_told_once_is_known_in_another_session(
    printed: dict[str, str], folder: Path
) -> None:
    told, asked = printed["preferences"].split("dev-17, ask:")
    note = "remembered: ['The user prefers TypeScript to JavaScript in code examples']"
    assert note in told
    assert "const greet = (name: string): string =>" in asked
    assert note in asked
    untold = folder / "nothing told"
    alone = run_here("examples.preferences", "--path", untold, "--step", "ask")
    assert "const greet = (name) =>" in alone
    assert "remembered: []" in alone


def test_a_team_goes_by_what_one_of_them_decided_and_tells_nothing_of_her_own(
    printed: dict[str, str],
) -> None:
    ana, bo = printed["team"].split("\nbo 1: ")
    assert [team.PRIVATE in known for known in (ana, bo)] == [True, False]
    for asked in (ana, bo):
        _, planned, coded = asked.split("  what is known:\n")
        assert f"    - {team.DECISION}" in planned
        assert "3. the way back: revert the release" in planned
        assert "def total(cents: list[int]) -> int:" in coded
        assert '"""Return the total, in cents."""' in coded


def test_each_agent_of_a_team_is_given_its_own_lessons_and_bo_nothing_of_anas(
    tmp_path: Path,
) -> None:
    models = {"planner": scripted(plan), "coder": scripted(code)}
    with Memory(ChromaStore(tmp_path)) as memory, open_sessions(tmp_path) as sessions:
        graph = team.build(memory, sessions.checkpointer, models)
        asked = {"messages": [("user", team.QUESTION)]}
        alone = graph.invoke(asked, sessions.config(user="bo", thread_id="before"))
        assert "def total(euros: list[float]) -> float:" in alone["messages"][-1].text
        team.teach(memory)
        graph.invoke(asked, sessions.config(user="bo", thread_id="after"))
        assert [record.text for record in memory.list(user="bo")] == []
    for agent, model in models.items():
        before, after = ("\n".join(message.text for message in prompt) for prompt in model.calls)
        assert team.DECISION not in before
        assert f"project shop, from ana, decision: {team.DECISION}" in after
        for other, lesson in team.LESSONS.items():
            assert lesson not in before
            assert (lesson in after) == (other == agent)
        assert "Ana leaves" not in before + after


@pytest.mark.parametrize(
    ("run", "wrong", "right"),
    [("tasks", "send_by_fax", "send_by_mail"), ("tasks-zh", "传真", "电子邮件")],
)
def test_an_agent_that_failed_takes_another_way_until_it_has_forgotten(
    printed: dict[str, str], folder: Path, run: str, wrong: str, right: str
) -> None:
    ways = re.findall(r"^ {10}([^:]+): ", printed[run], re.MULTILINE)
    assert ways == [wrong, right, wrong]
    [lesson] = re.findall("^learnt: (.*)$", printed[run], re.MULTILINE)
    assert wrong in lesson
    [[_, *options]] = IN_ONE_PROCESS[run]
    assert run_here("examples.task_agent", "--path", folder / run, *options) == printed[run]


@pytest.mark.parametrize(
    ("name", "shipped", "returned", "unknown"),
    [
        (
            "knowledge",
            "Orders are shipped on Tuesdays and Fridays. (handbook.md, Handbook > Delivery)",
            "Unopened bags can be returned within {} days. (handbook.md, Handbook > Returns)",
            "I do not know that: it is not in our documents.",
        ),
        (
            "knowledge-zh",
            "订单每周二和周五发货。 (handbook.md, 手册 > 配送)",
            "未开封的咖啡豆可以在{}天内退货。 (handbook.md, 手册 > 退货)",
            "这个我不知道：我们的资料里没有。",
        ),
    ],
    ids=["en", "zh"],
)
def test_the_knowledge_base_answers_from_its_documents_and_knows_when_it_cannot(
    printed: dict[str, str], name: str, shipped: str, returned: str, unknown: str
) -> None:
    answers = [line[4:] for line in printed[name].splitlines() if line.startswith("    ")]
    before, after = answers[:3], answers[3:]
    assert before == [shipped, returned.format(14), unknown]
    assert after == [shipped, returned.format(30), unknown]  # the handbook was replaced


@pytest.mark.parametrize(
    ("run", "first", "second", "unknown"),
    [
        (
            "diary",
            "Drinks Colombia from a moka pot",
            "Drinks Sidamo as filter coffee",
            "I do not know that yet. Would you tell me?",
        ),
        (
            "diary-zh",
            "用摩卡壶喝哥伦比亚咖啡",
            "喝西达摩手冲咖啡",
            "这个我还不知道，可以告诉我吗？",
        ),
    ],
    ids=["en", "zh"],
)
def test_a_diary_knows_the_newest_of_its_customer_alone_until_that_is_deleted(
    printed: dict[str, str], run: str, first: str, second: str, unknown: str
) -> None:
    answers = re.findall("^    (?! *$)(.*)$", printed[run], re.MULTILINE)
    told, known, _, newest, other, seen, _, after, *_ = answers
    assert told == answers[2] == answers[6]  # done
    assert (first in known, second in known) == (True, False)
    assert (first in newest, second in newest) == (False, True)
    assert seen == newest
    assert other == after == unknown
    [page, emptied] = printed[run].split("\nThe diary of c-7004:\n")[1:]
    assert page.strip().endswith(first)
    assert emptied == ""


def test_a_reviewer_goes_by_the_newest_rule_of_the_team_whoever_gave_it(
    printed: dict[str, str],
) -> None:
    answers = re.findall("^  -> (.*)$", printed["reviewer"], re.MULTILINE)
    assert answers[0] == "No rule against it."
    assert "from ana" in answers[2]
    assert "in cents" in answers[2]
    assert "from bo" in answers[4]
    assert "in euros" in answers[4]
    assert printed["reviewer"].endswith(
        "    superseded, by ana: Amounts of money are int, in cents\n"
        "    active, by bo: Amounts of money are Decimal, in euros\n"
    )


def test_a_supervisors_agents_know_what_they_learned_and_nothing_of_who_asks(
    printed: dict[str, str],
) -> None:
    news = re.findall("^    (New: .*)$", printed["supervisor"], re.MULTILINE)
    assert news == ["New: Sidamo, by the kilo.", "New: Sidamo, by the kilo, for 18 euros."]
    remembered = r"^The memory of the (\w+):\n    note: (.*)$"
    notes = dict(re.findall(remembered, printed["supervisor"], re.MULTILINE))
    assert notes == {
        "project": supervisor.TALK[0][1].removeprefix("Decision: "),
        "researcher": supervisor.KNOWN,
        "writer": "Each announcement says what it costs",
    }


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_what_a_supervisor_passes_on_has_nothing_that_others_said(
    tmp_path: Path, way: str
) -> None:
    models = {
        "supervisor": scripted(supervise),
        "researcher": scripted(research),
        "writer": scripted(write),
    }
    with Memory(ChromaStore(tmp_path)) as memory:
        agent = supervisor.build(memory, models)
        secret = "I leave the company in March. Announce the Sidamo"
        for user, text in (("ana", secret), ("bo", supervisor.ANNOUNCE), ("ana", "Thanks")):
            await Way(way)(agent, say(text), as_user(user))
        assert [each.text for each in memory.list(user="ana", types=["message"])][-1] == secret
        for name in supervisor.ROLES:
            assert set(memory.count(user=name).values()) == {0}
    _, bo, thanks = [prompt for prompt in models["supervisor"].calls if len(prompt) == 2]
    assert "in March" not in bo[-1].text
    assert "in March" in thanks[-1].text
    for name in supervisor.ROLES:  # they are asked twice a turn: what to look up, what to say
        prompts = models[name].calls
        assert OPEN not in str(prompts)
        assert ["in March" in str(prompt) for prompt in prompts] == [True] * 2 + [False] * 4


def test_notes_are_extracted_every_third_turn_and_count_when_they_are_approved(
    printed: dict[str, str],
) -> None:
    run, known = printed["extraction"].split("\nKnown:\n")
    assert re.findall(r"turns that wait: (\d)", run) == ["1", "2", "0", "1", "2", "0", "1"]
    assert re.findall("- [0-9-]+: The user lives in (.*)", run) == ["Graz.", "Linz."]
    approved = re.findall(r"approved: (.*)", run)
    assert sorted(approved) == [
        "The user lives in Graz. (add)",
        "The user lives in Linz. (supersede)",
        "The user's sister gets a kilo of coffee for her birthday. (add)",
    ]
    assert sorted(known.splitlines()) == [
        "    decision, before 2100-01-01: "
        "The user's sister gets a kilo of coffee for her birthday.",
        "    fact: The user lives in Linz.",
    ]


def test_a_memory_by_hand_finds_removes_and_counts(printed: dict[str, str]) -> None:
    lines = printed["by-hand"].splitlines()
    shown = {key.strip(): value.strip() for key, _, value in (it.partition(":") for it in lines)}
    assert shown == {
        "all": "['Drinks Colombia', 'Has a hand mill', 'Brews with a moka pot']",
        "with a word": "['Has a hand mill']",
        "preferences": "['Brews with a moka pot', 'Drinks Colombia']",
        "best match": "['Brews with a moka pot']",
        "of a chess game": "[]",
        "after two left": "['Drinks Colombia']",
        "count": "1",
        "after all left": "0",
        "nearest recipe": "['moka']",
        "for many cups": "['press']",
        "keys that stay": "['moka']",
    }


def test_a_memory_forgets_what_is_told_twice_and_what_fades_but_nothing_critical(
    printed: dict[str, str],
) -> None:
    parts = re.split(r"\n(.*):\n", printed["forgetting"])[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    shown = {when: {line.strip() for line in notes.strip().splitlines()} for when, notes in pairs}
    dog, detail, gossip, critical = forgetting.NOTES
    assert shown["today"] == {dog, detail, gossip, critical}
    assert shown["planned"] == {
        f"update: {detail}",
        f"retire: {dog}",
    }
    assert shown["after a night"] == {detail, gossip, critical}
    assert shown["after a year"] == {detail, critical}
    assert shown["after undo (archive)"] == {detail, gossip, critical}


# -- what all of them leave, and where to find them ----------------------------------------------

KEPT: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "zh": ({"user": "c-2291"}, {"message": 4, "episode": 2}),
    "preferences": ({"user": "dev-17"}, {"note": 1, "message": 4, "episode": 1}),
    "facts": ({"user": "c-2291"}, {"note": 2}),
    "team": ({"user": "ana"}, {"note": 1, "message": 3, "episode": 1}),
    "tasks": ({"user": "c-2291"}, {"episode": 1}),
    "long": ({"user": "c-2291"}, {"message": 20, "episode": 1}),
    "diary": ({"user": "c-2291"}, {}),
    "reviewer": ({"user": "bo", "project": "shop"}, {"note": 1}),
    "supervisor": ({"user": "bo"}, {"message": 2, "episode": 1}),
    "knowledge": ({"user": "bo", "project": "shop"}, {"document": 3}),
    "extraction": ({"user": "c-2291"}, {"note": 2, "message": 14}),
    "by-hand": ({"user": "c-2291"}, {}),
    "forgetting": ({"user": "c-2291"}, {"note": 3}),
}


@pytest.mark.parametrize("name", KEPT)
def test_each_example_leaves_in_memory_what_it_says(
    printed: dict[str, str], folder: Path, name: str
) -> None:
    owner, kept = KEPT[name]
    with memory_in(folder / name) as memory:
        count = memory.count(user=owner["user"], project=owner.get("project"))
    assert {type: number for type, number in count.items() if number} == kept


EXAMPLES = ROOT / "examples"
SHARED = {"__init__", "command_line", "stand_ins"}
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in SHARED)


def test_each_example_is_run_here() -> None:
    commands = [
        *WITH_PROCESSES.values(),
        *(run for runs in IN_ONE_PROCESS.values() for run in runs),
    ]
    run = {command[0].removeprefix("examples.") for command in commands}
    assert run | {"mcp_client"} == set(NAMES)  # tests/graph/test_mcp.py has that one


def test_the_readme_names_each_file_and_no_other() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    linked = set(re.findall(r"\]\((\w+)\.py\)", text))
    assert linked == {*NAMES, *SHARED} - {"__init__"}
    folders = {path.parent.name for path in EXAMPLES.glob("*/*.py")}
    assert {name for name in folders if f"{name}/" not in text} == set()


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_short_and_says_how_it_is_run(name: str) -> None:
    source = (EXAMPLES / f"{name}.py").read_text("utf-8")
    assert source.count("\n") <= 125
    assert f"\n\n    python -m examples.{name}\n\n" in source
    assert source.endswith('\n\nif __name__ == "__main__":\n    main()\n')


def test_no_example_asks_for_a_network(printed: dict[str, str], folder: Path) -> None:
    assert all(printed.values())
    assert not (folder / "attempts").exists()


# -- a real model --------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda messages: f"Heard: {messages[-1]['content'][-30:]}") as server:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def test_the_shop_gives_a_real_model_the_memory_of_the_customer(
    server: OpenAIServer, tmp_path: Path
) -> None:
    options = ["--path", tmp_path, "--model", "openai:gpt-4o-mini", "--step"]
    answers = [run_here("examples.coffee_shop", *options, day) for day in DAYS]
    assert "Heard: Send me the same as last time." in answers[1]
    first, second, other = (request.body for request in server.requests)
    assert {body["model"] for body in (first, second, other)} == {"gpt-4o-mini"}
    for body in (first, second, other):
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "Colombia, ground for a moka pot, shipped to Rosario" in second["messages"][1]["content"]
    assert "<memory>" not in first["messages"][1]["content"] + other["messages"][1]["content"]


def test_a_real_model_is_given_the_fact_that_counts_now(
    server: OpenAIServer, tmp_path: Path
) -> None:
    run_here("examples.facts", "--path", tmp_path, "--model", "openai:gpt-4o-mini")
    first, second = (request.body["messages"][1]["content"] for request in server.requests)
    assert ("home city: Rosario" in first, "Córdoba" in first) == (True, False)
    assert ("home city: Córdoba" in second, "Rosario" in second) == (True, False)


def test_a_real_model_is_given_the_tools_of_the_diary(server: OpenAIServer, tmp_path: Path) -> None:
    run_here("examples.diary", "--path", tmp_path, "--model", "openai:gpt-4o-mini")
    for request in server.requests:
        assert request.body["messages"][0]["content"].endswith(TOOLS_PROMPT)
        names = [each["function"]["name"] for each in request.body["tools"]]
        assert names == ["remember", "recall", "forget", "list_memories"]


def test_a_real_model_supervises_with_memory_tools_and_agents(
    server: OpenAIServer, tmp_path: Path
) -> None:
    run_here("examples.supervisor", "--path", tmp_path, "--model", "openai:gpt-4o-mini")
    for request in server.requests:
        told = f"{supervisor.SYSTEM}\n\n{supervisor.DECISIONS}"
        assert request.body["messages"][0]["content"] == told
        names = [each["function"]["name"] for each in request.body["tools"]]
        assert names == ["remember", "recall", "forget", "list_memories", "researcher", "writer"]


def test_a_real_model_proposes_and_reads_what_was_kept(
    server: OpenAIServer, tmp_path: Path
) -> None:
    proposals = iter([["用户叫小明"], None, "The user prefers TypeScript", None])

    def reply(messages: list[dict[str, Any]]) -> str:
        said = messages[-1]["content"].splitlines()[-1]
        return json.dumps({"reply": f"Heard: {said}", "save_to_memory": next(proposals)})

    server.reply = reply
    options = ["--path", tmp_path, "--model", "openai:gpt-4o-mini"]
    saving = [run_here("examples.self_saving", *options, "--lang", "zh", "--step", n) for n in "12"]
    assert [text.count("\n    - 用户叫小明") for text in saving] == [1, 1]
    told, asked = (
        run_here("examples.preferences", *options, "--step", step) for step in ("tell", "ask")
    )
    for output in (*saving, told, asked):
        assert "    Heard: " in output
        assert "save_to_memory" not in output
    prompts = [request.body["messages"] for request in server.requests]
    assert all(SavingReply.instructions() == prompt[0]["content"] for prompt in prompts)
    assert ["用户叫小明" in prompt[1]["content"] for prompt in prompts[:2]] == [False, True]
    assert ["TypeScript\n" in prompt[1]["content"] for prompt in prompts[2:]] == [False, True]
    schema = server.requests[2].body["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"reply", "save_to_memory"}
