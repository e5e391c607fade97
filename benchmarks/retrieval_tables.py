"""Tables out of the lines that the benchmarks of recall print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.locomo_data import CATEGORIES
from benchmarks.performance_tables import Lines, select, table

_SCORES = ("R@5", "R@10", "R@20")
_PEERS = ("ours", "langchain-chroma", "langgraph")

Line = dict[str, Any]


def life_tables(lines: Lines) -> Iterator[str]:
    """Yield the tables of `benchmarks.life`: a row for each kind of month, a column a language."""
    months = select(lines, "life")
    equal = {"ours": 1_000, "langchain-chroma": "equal", "langgraph": "equal"}

    def beside_peers(of: Lines) -> str:
        cells = (select(of, contender=name, budget=equal[name], days="all") for name in _PEERS)
        return " / ".join(share(found[0]["held"]) for found in cells if found)

    def by_days(of: Lines) -> str:
        tens = [line for line in select(of, contender="ours") if line["days"] != "all"]
        return " / ".join(share(line["held"]) for line in (*tens[:1], *tens[-1:]))

    yield _months("in the block: ours / langchain-chroma / LangGraph", months, beside_peers)
    yield _months("in the block: first / last ten days", months, by_days)
    others = select(lines, "life.other")
    yield _months("told that nothing is known; tokens", others, _other_subjects)


def _months(title: str, lines: Lines, cell: Callable[[Lines], str]) -> str:
    languages = list(dict.fromkeys(line["language"] for line in lines))
    kinds = sorted({(line["mode"], line["crowd"], line["notes"]) for line in lines}, key=_order)
    rows = []
    for mode, crowd, notes in kinds:
        of_kind = select(lines, mode=mode, crowd=crowd, notes=notes)
        cells = (cell(select(of_kind, language=language)) for language in languages)
        rows.append([_kind(mode, crowd, notes), *cells])
    return table([title, *languages], rows)


def _order(kind: tuple[str, int, int]) -> tuple[int, int, int]:
    mode, crowd, notes = kind
    return ("messages", "notes", "both").index(mode), crowd, notes


def _kind(mode: str, crowd: int, notes: int) -> str:
    said = f"messages, {crowd} other turns"
    return {"messages": said, "notes": f"{notes} notes"}.get(mode, f"{said}, {notes} notes")


def _other_subjects(lines: Lines) -> str:
    return "; ".join(f"{share(each['nothing'])}; {each['offtopic_tokens']:g}" for each in lines)


def locomo_tables(lines: Lines) -> Iterator[str]:
    """Yield the tables of `benchmarks.locomo`."""
    if blocks := select(lines, "locomo.block"):
        yield _blocks(blocks)
    if measured := select(lines, "locomo", conversation="all"):
        yield _contenders(measured)
    for line in select(lines, "missing"):
        yield f"{line['contender']} is left out: {line['error']}"


def _blocks(blocks: Lines) -> str:
    head = ["the block", "questions", "evidence", "answer's words", "told nothing", "tokens"]
    shares = ("evidence", "answer_words", "nothing")
    rows = [
        [
            line["category"],
            str(line["questions"]),
            *(share(line[name]) for name in shares),
            f"{line['tokens']:g}",
        ]
        for line in blocks
        if line["questions"]
    ]
    return table(head, rows)


def _contenders(measured: Lines) -> str:
    whole = sorted(select(measured, category="all"), key=lambda line: -line["R@10"])
    categories = [c for c in CATEGORIES.values() if select(measured, category=c)]
    rows = []
    for line in whole:
        own = select(measured, contender=line["contender"])
        by_category = (share(select(own, category=c)[0]["R@10"]) for c in categories)
        scores = (share(line[score]) for score in _SCORES)
        rows.append([line["library"], line["call"], *scores, *by_category, str(line["tokens"])])
    return table(["library", "call", *_SCORES, *categories, "tokens"], rows)


def languages_table(lines: Lines) -> str:
    """Return the table of `benchmarks.languages`: hit@1 / hit@3 of each set, or its halves."""
    found = select(lines, "language")
    calls = list(dict.fromkeys((line["embedder"], line["call"]) for line in found))
    rows = []
    for name, half in dict.fromkeys((line["language"], line["half"]) for line in found):
        of_set = select(found, language=name, half=half)
        own = {(line["embedder"], line["call"]): line for line in of_set}
        cells = (_hits(own[call]) if call in own else "" for call in calls)
        title = name if half is None else f"{name}, half {half}"
        rows.append([title, str(of_set[0]["questions"]), *cells])
    return table(["set", "questions", *(_call(*call) for call in calls)], rows)


def _call(embedder: str, call: str) -> str:
    return call if embedder == "default" else f"{call}, `{embedder}`"


def followups_table(lines: Lines) -> str:
    """Return the table of the follow-ups."""
    found = select(lines, "followup")
    rows = [
        [line["query"], line["language"], str(line["questions"]), _hits(line)] for line in found
    ]
    return table(["query", "language", "follow-ups", "hit@1 / hit@3"], rows)


def floor_table(lines: Lines) -> str:
    """Return the table of `benchmarks.floor`: what each type and set loses, and refuses."""
    chosen = select(lines, "floor.threshold")
    groups = list(dict.fromkeys(group for line in chosen for group in line["refused"]))
    rows = []
    for line in chosen:
        title = f"{line['type']}s: {line['set']} ({line['questions']})"
        rows.append(_refusals(title, "3 % lost", line, groups))
        for own in select(lines, "floor.default", type=line["type"], set=line["set"]):
            rows.append(_refusals(title, "as `recall` is", own, groups))
    return table(["records", "floor", "lost", *groups], rows)


def _refusals(title: str, name: str, line: Line, groups: Sequence[str]) -> list[str]:
    floor = f"{line['floor']:.2f}, " if "floor" in line else ""
    refused = (share(line["refused"].get(group)) for group in groups)
    return [title, f"{floor.removeprefix('0')}{name}", share(line["lost"]), *refused]


def share(value: float | None) -> str:
    """Write a share as in ".825".

    Example:
        >>> share(0.8249), share(1.0), share(None)
        ('.825', '1.000', '')
    """
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def _hits(line: Line) -> str:
    return f"{share(line['hit@1'])} / {share(line['hit@3'])}"
