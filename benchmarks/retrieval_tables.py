"""Tables out of the lines that the benchmarks of recall print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.locomo_data import CATEGORIES
from benchmarks.performance_tables import Lines, select, table

_SCORES = ("R@5", "R@10", "R@20", "all@10", "hit@10", "MRR")
_CATEGORIES = (*CATEGORIES.values(), "all")


def locomo_tables(lines: Lines) -> Iterator[str]:
    """Yield the tables of `benchmarks.locomo`."""
    whole = select(lines, "locomo", conversation="all", category="all")
    if whole:
        yield _contenders(whole)
        yield _by(lines, "category", [c for c in _CATEGORIES if select(lines, category=c)])
        yield _by(lines, "conversation", _conversations(lines))
    if blocks := select(lines, "locomo.block"):
        yield _blocks(blocks)
    if checked := select(lines, "cross-validated", conversation="all", category="all"):
        yield _cross_validated(lines, checked[0])
    for line in select(lines, "missing"):
        yield f"{line['contender']} is left out: {line['error']}"


def _contenders(whole: Lines) -> str:
    head = ["library", "call", *_SCORES, "tokens", "R@10 of conversations"]
    rows = []
    for line in sorted(whole, key=lambda line: -line["R@10"]):
        between = f"{share(line['lowest'])} to {share(line['highest'])}"
        figures = [share(line[score]) for score in _SCORES]
        rows.append([line["library"], line["call"], *figures, str(line["tokens"]), between])
    return table(head, rows)


def _blocks(blocks: Lines) -> str:
    head = ["the block", "questions", "evidence", "answer's words", "told nothing", "tokens"]
    shares = ("evidence", "answer_words", "nothing")
    rows = [
        [
            line["category"],
            str(line["questions"]),
            *(share(line[name]) for name in shares),
            str(line["tokens"]),
        ]
        for line in blocks
        if line["questions"]
    ]
    return table(head, rows)


def _by(lines: Lines, fact: str, values: Sequence[str]) -> str:
    """Return a table of `R@10`: a row for each contender, a column for each value of a fact."""
    other = {"category": "conversation", "conversation": "category"}[fact]
    measured = select(lines, "locomo", **{other: "all"})
    found = {(line["call"], line[fact]): line for line in measured}
    calls = dict.fromkeys(line["call"] for line in measured)
    rows = [[call, *(_recall(found.get((call, value))) for value in values)] for call in calls]
    counts = [f"{value} ({_count(measured, fact, value)})" for value in values]
    return table(["R@10 (questions)", *counts], rows)


def _cross_validated(lines: Lines, whole: dict[str, Any]) -> str:
    head = ["weights chosen on", "scored on", *_SCORES, "weights"]
    rows = []
    for line in select(lines, "cross-validated", category="all"):
        left_out = line["conversation"] != "all"
        chosen = "all others" if left_out else "the others, each"
        weights = ", ".join(f"{k} {v:g}" for k, v in (line["weights"] or {}).items())
        rows.append([chosen, line["conversation"], *(share(line[s]) for s in _SCORES), weights])
    for line in select(lines, "defaults", category="all"):
        weights = ", ".join(f"{name} {weight:g}" for name, weight in line["weights"].items())
        rows.append(["the defaults", "all", *(share(line[s]) for s in _SCORES), weights])
    for line in select(lines, "without"):
        figures = (share(line[s]) for s in _SCORES)
        rows.append(["the others, each", "all", *figures, f"without {line['weight']}"])
    return table(head, rows)


def languages_table(lines: Lines) -> str:
    """Return the table of `benchmarks.languages`: hit@1 / hit@3 by language."""
    found = select(lines, "language")
    languages = list(dict.fromkeys(line["language"] for line in found))
    rows = []
    for call in dict.fromkeys(line["call"] for line in found):
        of_call = {line["language"]: line for line in select(found, call=call)}
        cells = (of_call.get(language) for language in languages)
        rows.append([call, *(_hits(line) if line else "" for line in cells)])
    return table(["hit@1 / hit@3", *languages], rows)


def aliases_table(lines: Lines) -> str:
    """Return the table of the sets with aliases, without and with them."""
    found = select(lines, "aliases")
    rows = [[line["language"], line["half"], str(line["questions"]), _hits(line)] for line in found]
    return table(["set", "half", "questions", "hit@1 / hit@3"], rows)


def followups_table(lines: Lines) -> str:
    """Return the table of the follow-ups."""
    found = select(lines, "followup")
    rows = [
        [line["query"], line["language"], str(line["questions"]), _hits(line)] for line in found
    ]
    return table(["query", "language", "follow-ups", "hit@1 / hit@3"], rows)


def floor_tables(lines: Lines) -> Iterator[str]:
    """Yield the tables of `benchmarks.floor`: one for each type and set."""
    for line in select(lines, "floor.threshold"):
        of_set = {"type": line["type"], "set": line["set"]}
        groups = list(line["refused"])
        head = ["floor", "", "lose their evidence", "recall", *(f"refused: {g}" for g in groups)]
        rows = [_refusals("3 % lost", line, groups)]
        rows += [_refusals("chosen on the others", line["left_out"], groups)]
        for own in select(lines, "floor.default", **of_set):
            rows.append(_refusals("as `recall` is", own, groups))
        yield f"{_floor_title(line)}\n\n{table(head, rows)}"


def _floor_title(line: dict[str, Any]) -> str:
    deep = {"message": "ten", "note": "five"}[line["type"]]
    return (
        f"{line['type'].capitalize()}s, {line['set']}: {line['questions']} answerable questions, "
        f"recall in the first {deep} {share(line['recall_without'])} without a floor."
    )


def _refusals(name: str, line: dict[str, Any], groups: Sequence[str]) -> list[str]:
    floor = "" if line.get("floor") is None else f"{line['floor']:.2f}".removeprefix("0")
    refused = (share(line["refused"].get(group)) for group in groups)
    return [floor, name, share(line["lost"]), share(line["recall"]), *refused]


def share(value: float | None) -> str:
    """Write a share as in ".825".

    Example:
        >>> share(0.8249), share(1.0), share(None)
        ('.825', '1.000', '')
    """
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def _recall(line: dict[str, Any] | None) -> str:
    return "" if line is None else share(line["R@10"])


def _hits(line: dict[str, Any]) -> str:
    return f"{share(line['hit@1'])} / {share(line['hit@3'])}"


def _count(lines: Lines, fact: str, value: str) -> int:
    found: int = select(lines, **{fact: value})[0]["questions"]
    return found


def _conversations(lines: Lines) -> list[str]:
    found = dict.fromkeys(line["conversation"] for line in select(lines, "locomo", category="all"))
    return [id for id in found if id != "all"]
