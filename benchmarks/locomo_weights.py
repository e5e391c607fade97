"""Weights of `Ranking` that are chosen on other conversations than those they are scored on.

Relevance is a weighted sum, and `Hit.parts` names what is summed: so one recall of everything, for
each question, is enough to score any weights. They are fitted to make evidence likely (softmax over
all messages of the conversation, a small ridge, Newton's method); it takes a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.locomo_contenders import Ours, message_id
from benchmarks.locomo_data import CATEGORIES, Conversation
from benchmarks.retrieval_scores import LIMIT, Answer, Line, scores, spread

RIDGE = 3e-4
"""Keeps a weight that tells nothing near 0. Down to .00001 the recall is the same within .001; .003
is already so much that the weights differ by a third, and it falls by .006."""

_STEPS = 20
_STILL = 1e-3

PARTS = {
    "lexical": "bm25",
    "dense": "likeness",
    "named": "named",
    "moment": "moment",
    "answers": "answers",
    "kind": "kind",
}
"""The weights of relevance, and the parts of a hit that they weigh."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """What the messages of one conversation have for each of its questions."""

    conversation: Conversation
    ids: Sequence[str]
    values: Floats
    """What each weight of the ranking adds, shape `(questions, messages, weights)`."""
    boosts: Floats
    """What recency and importance add to a relevance of 1, shape `(questions, messages)`; minus
    infinity for a message that did not come back, as one that says the same as another."""
    evidence: NDArray[np.bool_]
    """Shape `(questions, messages)`."""

    def without(self, number: int) -> Parts:
        """Return the same without one of the weights."""
        return replace(self, values=np.delete(self.values, number, axis=2))

    def answers(self, factors: Floats) -> list[Answer]:
        """Return the answers that weights give, each as a multiple of what it is."""
        relevance = self.values @ factors
        score = relevance + np.abs(relevance) * self.boosts
        order = np.argsort(-score, axis=1, kind="stable")[:, :LIMIT]
        return [
            Answer(
                self.conversation.id,
                question.category,
                question.evidence,
                [self.ids[row] for row in rows],
            )
            for question, rows in zip(self.conversation.questions, order, strict=True)
        ]


def cross_validate(ours: Ours, conversations: Sequence[Conversation]) -> Iterator[Line]:
    """Yield how each conversation is answered with weights that were chosen on the others.

    Also with those of the ranking (`defaults`, what `recall` does), and with one weight fewer, the
    others chosen anew (`without`).
    """
    weights: dict[str, float] = {name: getattr(ours.memory.ranking, name) for name in PARTS}
    read = [parts_of(ours, conversation, weights) for conversation in conversations]
    own = [answer for parts in read for answer in parts.answers(np.ones(len(weights)))]
    yield from _lines(own, "defaults", weights)
    answers = []
    for left_out, factors, found in chosen_elsewhere(read):
        chosen = zip(weights.items(), factors.tolist(), strict=True)
        yield {
            "name": "cross-validated",
            "weights": {name: round(weight * factor, 3) for (name, weight), factor in chosen},
            "conversation": left_out.conversation.id,
            "category": "all",
            **scores(found),
        }
        answers += found
    yield from _lines(answers, "cross-validated", None)
    for number, name in enumerate(weights):
        fewer = [parts.without(number) for parts in read]
        answers = [answer for _, _, found in chosen_elsewhere(fewer) for answer in found]
        yield {"name": "without", "weight": name, **scores(answers)}


def chosen_elsewhere(read: Sequence[Parts]) -> Iterator[tuple[Parts, Floats, list[Answer]]]:
    """Yield each conversation with the factors that the others give, and its answers with them."""
    for left_out in read:
        factors = fit([parts for parts in read if parts is not left_out])
        yield left_out, factors, left_out.answers(factors)


def _lines(
    answers: Sequence[Answer], name: str, weights: Mapping[str, float] | None
) -> Iterator[Line]:
    whole = {"name": name, "weights": weights, "conversation": "all"}
    yield {**whole, "category": "all", **scores(answers), **spread(answers)}
    for number, category in CATEGORIES.items():
        chosen = [answer for answer in answers if answer.category == number]
        yield {**whole, "category": category, **scores(chosen)}


def contributions(parts: Mapping[str, float], weights: Mapping[str, float]) -> list[float]:
    """Return what each weight adds to a hit's relevance.

    Raises:
        ValueError: If relevance is not the weighted sum of these parts.
    """
    found = [weight * parts[PARTS[name]] for name, weight in weights.items()]
    if not math.isclose(sum(found), parts["relevance"], rel_tol=1e-3, abs_tol=1e-4):
        raise ValueError(f"relevance is no weighted sum: {dict(parts)} with {dict(weights)}")
    return found


def parts_of(ours: Ours, conversation: Conversation, weights: Mapping[str, float]) -> Parts:
    """Recall all messages of a conversation for each of its questions."""
    ids = list(conversation.said)
    row = {id: number for number, id in enumerate(ids)}
    shape = (len(conversation.questions), len(ids))
    values, boosts = np.zeros((*shape, len(weights))), np.full(shape, -np.inf)
    for number, question in enumerate(conversation.questions):
        for hit in ours.hits(question.text, conversation, len(ids)):
            where, relevance = (number, row[message_id(hit)]), hit.parts["relevance"]
            values[where] = contributions(hit.parts, weights)
            boosts[where] = (hit.score - relevance) / (abs(relevance) or 1.0)
    evidence = [[id in question.evidence for id in ids] for question in conversation.questions]
    return Parts(conversation, ids, values, boosts, np.array(evidence))


def fit(training: Sequence[Parts]) -> Floats:
    """Return the factors of the weights that make evidence likely; on average they are 1."""
    factors = np.zeros(training[0].values.shape[-1])
    loss, gradient, hessian = _loss(factors, training)
    for _ in range(_STEPS):
        step = np.linalg.solve(hessian, gradient)
        while True:
            new = factors - step
            found = _loss(new, training)
            if found[0] <= loss or np.abs(step).max() < _STILL:
                break
            step /= 2
        factors, (loss, gradient, hessian) = new, found
        if np.abs(step).max() < _STILL:
            break
    return factors / factors.mean()


def _loss(factors: Floats, training: Sequence[Parts]) -> tuple[float, Floats, Floats]:
    """Return the mean cross-entropy of the evidence, with its first and second derivatives."""
    loss: Any = RIDGE / 2 * factors @ factors
    gradient, hessian = RIDGE * factors, RIDGE * np.eye(len(factors))
    questions = sum(len(parts.values) for parts in training)
    for parts in training:
        logits = parts.values @ factors
        logits -= logits.max(axis=1, keepdims=True)
        likely = np.exp(logits)
        total = likely.sum(axis=1, keepdims=True)
        likely /= total
        wanted = parts.evidence / parts.evidence.sum(axis=1, keepdims=True)
        loss += float((np.log(total[:, 0]) - (wanted * logits).sum(axis=1)).sum()) / questions
        gradient += np.einsum("qm,qmw->w", likely - wanted, parts.values) / questions
        means = np.einsum("qm,qmw->qw", likely, parts.values)
        rooted = (parts.values * np.sqrt(likely)[..., None]).reshape(-1, len(factors))
        hessian += (rooted.T @ rooted - means.T @ means) / questions
    return loss, gradient, hessian
