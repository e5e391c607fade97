"""What a real model answers from the blocks of a month, judged by the same model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from benchmarks.life_scores import Asked, is_perhaps, lines_of
from benchmarks.retrieval_scores import Line
from langgraph_memory.text.bm25 import query_tokens

UNKNOWN = "I do not know"
RIGHT, WRONG = "right", "wrong"

_ANSWER = (
    "You are a person's assistant. Answer in one short sentence, in the language of the question, "
    f"from what is remembered. If that does not answer it, reply exactly: {UNKNOWN}"
)
_JUDGE = (
    "A person said: {said}\nThey asked: {question}\nThe assistant answered: {answer}\n"
    f"Does the answer agree with what the person said, and make use of it? "
    f"Reply with one word, {RIGHT} or {WRONG}."
)


def answers(model: BaseChatModel, asked: Sequence[Asked]) -> Line:
    """Let a model answer from each block, and count.

    Returns:
        How many answers are `right`, `wrong` and `unknown`, and how many of the wrong ones have
        most in common with a line of what is uncertain (`wrong_from_perhaps`).
    """
    counts: Counter[str] = Counter()
    for each in asked:
        answer = _answer(model, each)
        verdict = "unknown" if UNKNOWN.lower() in answer.lower() else _judged(model, each, answer)
        counts[verdict] += 1
        counts["wrong_from_perhaps"] += verdict == WRONG and from_perhaps(answer, each.block)
    kinds = (RIGHT, WRONG, "unknown", "wrong_from_perhaps")
    return {"answers": len(asked), **{kind: counts[kind] for kind in kinds}}


def _answer(model: BaseChatModel, asked: Asked) -> str:
    said = HumanMessage(f"{asked.block}\n\n{asked.question}".strip())
    return str(model.invoke([SystemMessage(_ANSWER), said]).text)


def _judged(model: BaseChatModel, asked: Asked, answer: str) -> str:
    prompt = _JUDGE.format(said=asked.fact.said, question=asked.question, answer=answer)
    reply = str(model.invoke([HumanMessage(prompt)]).text)
    return RIGHT if RIGHT in reply.lower() else WRONG


def from_perhaps(answer: str, block: str) -> bool:
    """Whether the line that has most words of an answer is one of those that are uncertain."""
    terms = set(query_tokens(answer))
    shared = [(len(terms & set(query_tokens(line))), heading) for heading, line in lines_of(block)]
    most, heading = max(shared, key=lambda pair: pair[0], default=(0, ""))
    return most > 0 and is_perhaps(heading)
