"""A stand-in for a chat model that knows nothing but the block of memory that it is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langgraph_memory.retrieval import LAST_TIME, PERHAPS, TASKS
from langgraph_memory.text import CLOSE, OPEN, has_han, query_tokens, tokens

_BLOCK = re.compile(f"{re.escape(OPEN)}\n(.*?)\n{re.escape(CLOSE)}\n*", re.DOTALL)
_LINE = re.compile(r"- \[(?P<date>[\d-]+)\] (?P<source>.*?): (?P<text>.*)")
_WORDS = {
    "en": (
        "(I am not a language model: I repeat what my memory says.)",
        "I remember:",
        "I am not certain, but I remember:",
        "I do not know that. What I have from before:",
        "I do not know that yet. Would you tell me?",
    ),
    "zh": (
        "（我不是语言模型，只复述记忆里的内容。）",
        "我记得：",
        "不太确定，但我记得：",
        "这个我不知道。之前的记录是：",
        "这个我还不知道，可以告诉我吗？",
    ),
}
_MOST = 3  # lines, where none fits the question


class _Line(NamedTuple):
    section: str
    date: str
    source: str
    text: str


class RecallingChatModel(BaseChatModel):
    """Answers from the memory block in its messages, and says so when that holds nothing.

    It stands in for a language model in demos and tests: it has no knowledge and no wit. It picks
    the lines of the block that share most words with the question, and says so if the block is not
    certain of them; where none does, what was said last time, and before; where there is nothing,
    it says that it does not know.

    Example:
        >>> answer = RecallingChatModel().invoke("What do I drink?")
        >>> print(answer.text)
        (I am not a language model: I repeat what my memory says.)
        I do not know that yet. Would you tell me?
    """

    @property
    def _llm_type(self) -> str:
        return "recalling-stand-in"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = AIMessage(answer_from_memory([str(m.text) for m in messages if m.type != "ai"]))
        return ChatResult(generations=[ChatGeneration(message=answer)])


def answer_from_memory(texts: Sequence[str]) -> str:
    """Return the answer to the last of some texts, from the block that is in one of them."""
    blocks = [match.group(1) for text in texts for match in _BLOCK.finditer(text)]
    question = _BLOCK.sub("", texts[-1]) if texts else ""
    language = "zh" if has_han(question) else "en"
    own, found, uncertain, before, unknown = _WORDS[language]
    lines = _lines(blocks[-1]) if blocks else []
    best = _closest(question, [line for line in lines if line.section != LAST_TIME])
    best = best or _closest(question, lines)
    if known := [line for line in best if line.section != PERHAPS]:
        return "\n".join([own, found, *map(_quote, known)])
    if best:
        return "\n".join([own, uncertain, *map(_quote, best)])
    told = [line for line in lines if not line.text.endswith(("?", "？"))]
    told.sort(key=lambda line: line.section != LAST_TIME)
    return "\n".join([own, before, *map(_quote, told[:_MOST])] if told else [own, unknown])


def _lines(block: str) -> list[_Line]:
    """Return the lines that somebody else than the agent is the source of, past tasks aside."""
    section = ""
    lines = []
    for raw in block.splitlines():
        match = _LINE.fullmatch(raw)
        if match is None:
            section = raw
        elif match["source"].split(",")[0] not in ("assistant", "task") and section != TASKS:
            lines.append(_Line(section, *match.group("date", "source", "text")))
    return lines


def _closest(question: str, lines: Sequence[_Line]) -> list[_Line]:
    asked = set(query_tokens(question))
    # The source names the slot: a value alone does not say what it is of.
    shared = [len(asked & set(tokens(f"{line.source} {line.text}"))) for line in lines]
    most = max(shared, default=0)
    return [line for line, count in zip(lines, shared, strict=True) if count == most > 0]


def _quote(line: _Line) -> str:
    return f"- {line.date}: {line.text}"
