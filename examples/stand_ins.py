"""What answers in place of a chat model, so that the examples need no key and no network.

With `--model openai:gpt-4o-mini` nothing of this is used. Each goes by its prompt alone: what it
knows of a user it has from memory. `RecallingChatModel` is one more, which says what it recalls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import unescape
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_memory import SavingReply
from langgraph_memory.testing import RecallingChatModel, ScriptedChatModel
from langgraph_memory.text import CLOSE, OPEN, query_tokens, tokens


def scripted(answer: Callable[[list[BaseMessage]], Any]) -> ScriptedChatModel:
    """Return a model that answers so whenever it is asked."""
    return ScriptedChatModel([answer] * 99)


def calling(name: str, **arguments: Any) -> AIMessage:
    """Return a model's call of a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


# -- models that call tools ----------------------------------------------------------------------


def price_asker(answer: str, **arguments: str) -> ScriptedChatModel:
    """Return what looks a price up once, and then gives an answer."""
    return ScriptedChatModel([calling("price_of", **arguments), answer])


def diary_keeper(talk: Mapping[str, tuple[str, str]]) -> BaseChatModel:
    """Return what calls the memory tools as a model would, for what `examples.diary` says."""
    topics = {text: topic for topic, (text, _) in talk.items()}
    done, unknown = talk["done"]

    def answer(messages: list[BaseMessage]) -> AIMessage:
        topic, last = topics[_asked(messages)], messages[-1]
        if isinstance(last, HumanMessage):
            if topic in ("told", "changed"):
                slot = talk["asked"][1]
                return calling("remember", text=talk[topic][1], kind="preference", slot=slot)
            if topic == "asked":
                return calling("recall", query=talk[topic][1])
            return calling("list_memories")
        found = re.search(r"^- (\w+) (\[.*)$", last.text, re.MULTILINE)
        if topic == "deleted" and last.name == "list_memories" and found:
            return calling("forget", id=found[1])
        if topic in ("asked", "seen"):
            return AIMessage(found[2] if found else unknown)
        return AIMessage(done)

    return scripted(answer)


def reviewer(rules: Mapping[str, str], slot: str) -> BaseChatModel:
    """Return what saves a rule when it is given one, and reviews by those in its prompt."""

    def answer(messages: list[BaseMessage]) -> AIMessage | str:
        said = messages[-1].text
        if not isinstance(messages[-1], HumanMessage):
            return said
        for sentence, rule in rules.items():
            if said.endswith(sentence):
                return calling("remember", text=rule, kind="decision", slot=slot)
        lines = [line for line in said.splitlines() if f"decision, {slot}: " in line]
        return f"No float here: {lines[0][2:]}" if lines else "No rule against it."

    return scripted(answer)


def supervise(messages: list[BaseMessage]) -> AIMessage | str:
    """Pass a task to the researcher, what is found to the writer, and a complaint to the writer."""
    said, last = _asked(messages), messages[-1]
    if isinstance(last, HumanMessage):
        begin, _, rest = said.partition(": ")
        if begin == "Decision":
            return calling("remember", text=rest, kind="decision")
        return calling("writer", task=said) if rest else calling("researcher", task=said)
    if last.name == "researcher":
        return calling("writer", task=f"{said} Known is {last.text}")
    return last.text


def research(messages: list[BaseMessage]) -> AIMessage | str:
    """Say what is remembered about a task."""
    if isinstance(messages[-1], HumanMessage):
        return calling("recall", query="How are beans such as Sidamo sold, and what do they cost?")
    return "; ".join(re.findall(r"^- .*: (.*)$", messages[-1].text, re.MULTILINE))


def write(messages: list[BaseMessage]) -> AIMessage | str:
    """Write what is known down, with the price if a lesson says so; keep what a complaint says."""
    task, last = _asked(messages), messages[-1]
    begin, _, rest = task.partition(": ")
    if isinstance(last, HumanMessage):
        keep = calling("remember", text=rest, kind="lesson")
        return keep if rest else calling("recall", query="What is in each announcement?")
    if rest:
        return f"{begin}? From now on: {rest}"
    unit = ", by the kilo" if "by the kilo only" in task else ""
    price = re.search(r"\d+ euros", task) if "lesson" in last.text else None
    return f"New: Sidamo{unit}{f', for {price[0]}' if price else ''}."


# -- models that answer from what they are given -------------------------------------------------


def librarian(unknown: Mapping[str, str]) -> BaseChatModel:
    """Return what answers with the sentence of a document that fits best."""

    def answer(messages: list[BaseMessage]) -> str:
        block, _, question = messages[-1].text.rpartition(CLOSE)
        asked = set(query_tokens(question))
        best = (0, unknown[_language(question)])
        for source, text in re.findall(r"^- \[[\d-]+\] (.+?): (.+)$", block, re.MULTILINE):
            heading = source.rpartition(" > ")[2]
            for sentence in re.findall("[^.。]+[.。]", text.rpartition(f"## {heading} ")[2]):
                shared = len(asked & set(tokens(sentence)))
                quoted = f"{sentence.strip()} ({source.rpartition('from owner, ')[2]})"
                best = max(best, (shared, quoted), key=lambda it: it[0])
        return best[1]

    return scripted(answer)


def listener() -> BaseChatModel:
    """Return what answers questions from memory, and takes note of all else."""
    noted = {"en": "Noted.", "zh": "记下了。"}

    def answer(messages: list[BaseMessage]) -> str:
        said = messages[-1].text
        asks = said.endswith(("?", "？"))
        return RecallingChatModel().invoke(messages).text if asks else noted[_language(said)]

    return scripted(answer)


def summarise(messages: list[BaseMessage]) -> str:
    """Return the summary so far, and what was said in the turns that are said to hold something."""
    asked = messages[-1].text
    before = re.findall(r"<summary_so_far>\n(?!\(nothing yet\))(.*?)\n</", asked, re.DOTALL)
    held = re.findall(r'<turn holds=.*?<message type="human">(.*?)</message>', asked, re.DOTALL)
    return unescape(" ".join([*before, *held]))


def plan(messages: list[BaseMessage]) -> str:
    """Plan as the prompt says."""
    steps = ["write it", "test it"]
    if "way back" in _text(messages):
        steps.append("the way back: revert the release")
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def code(messages: list[BaseMessage]) -> str:
    """Write code as the prompt says."""
    known = _text(messages)
    unit = ("cents", "int") if "whole numbers of cents" in known else ("euros", "float")
    docstring = f'    """Return the total, in {unit[0]}."""\n' if "docstring" in known else ""
    head = f"def total({unit[0]}: list[{unit[1]}]) -> {unit[1]}:\n"
    return f"{head}{docstring}    return sum({unit[0]})"


def choose_by_lessons(messages: list[BaseMessage]) -> str:
    """Take the first way of which no lesson about a task like this one warns."""
    ways = messages[0].text.rpartition(": ")[2].split(" | ")
    block, _, task = messages[-1].text.rpartition(CLOSE)
    words = set(query_tokens(task))
    lines = block.partition(OPEN)[2].splitlines()
    lessons = [line.partition("] lesson: ")[2] for line in lines]
    warnings = [lesson for lesson in lessons if words & set(query_tokens(lesson))]
    return next((way for way in ways if not any(way in each for each in warnings)), ways[0])


# -- models that make notes ----------------------------------------------------------------------


def proposer(proposals: Mapping[str, tuple[str, list[str]]]) -> BaseChatModel:
    """Return what proposes notes for some sentences, and answers all else from memory."""

    def answer(messages: list[BaseMessage]) -> SavingReply:
        for sentence, (reply, notes) in proposals.items():
            if messages[-1].text.endswith(sentence):
                return SavingReply(reply=reply, save_to_memory=notes)
        return SavingReply(reply=RecallingChatModel().invoke(messages).text)

    return scripted(answer)


def programmer(told: str, note: str, examples: Mapping[str, str]) -> BaseChatModel:
    """Return what notes a preference, and writes in the language that its prompt names."""

    def answer(messages: list[BaseMessage]) -> SavingReply:
        asked = messages[-1].text
        if asked.endswith(told):
            return SavingReply(reply="As you like it.", save_to_memory=note)
        named = next((language for language in examples if language in asked), "JavaScript")
        return SavingReply(reply=examples[named])

    return scripted(answer)


def extractor(notes: Mapping[str, Mapping[str, Any]]) -> BaseChatModel:
    """Return what makes the notes of some sentences, which it quotes."""

    def answer(messages: list[BaseMessage]) -> dict[str, Any]:
        read = re.findall(r'<message n="(\d+)".*?>(.*?)</message>', messages[-1].text)
        return {
            "notes": [
                {"message": int(number), "quote": text, **notes[text]}
                for number, text in read
                if text in notes
            ]
        }

    return scripted(answer)


_FAILURE = re.compile(
    r'<task n="(\d+)" outcome="failure"[^>]*>\nTask: (.*)\nApproach: (.*)\nError: (.*)\n</task>'
)


def draw_lessons(messages: list[BaseMessage]) -> dict[str, Any]:
    """Write a lesson for each failure among the tasks that are shown."""
    words = {"en": "For {!r} do not take {}: {}.", "zh": "像“{}”这样的任务不要用{}：{}。"}
    lessons = []
    for number, task, way, error in _FAILURE.findall(messages[-1].text):
        text = words[_language(task)].format(task, way, error)
        lessons.append({"text": text, "tasks": [int(number)], "importance": 0.7})
    return {"lessons": lessons}


def _asked(messages: list[BaseMessage]) -> str:
    asked = next(m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    return asked.rpartition(CLOSE)[2].strip()


def _text(messages: list[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages)


def _language(text: str) -> str:
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"
