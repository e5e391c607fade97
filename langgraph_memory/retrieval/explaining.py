"""Why records were recalled and others were not, as text for a person. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite

from langgraph_memory.records import Note, Record
from langgraph_memory.retrieval.block import Filled, fill, frame_tokens, tells
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.text import approximate_tokens, one_line


def explanation(recalled: Recalled, max_tokens: int) -> str:
    """Return a line for each record that came, and for each that did not come far enough.

    Args:
        recalled: What was recalled.
        max_tokens: The budget of its block.
    """
    budget = max_tokens - frame_tokens(recalled, approximate_tokens)
    filled = fill(recalled, budget, approximate_tokens)
    return "\n".join(_lines(recalled, filled))


def _lines(recalled: Recalled, filled: Filled) -> Iterator[str]:
    tasks = [hit for hit in recalled.episodes if hit not in recalled.hits]
    yield from _section("known", (_hit(hit) for hit in recalled.hits), recalled.hits, filled)
    below = (f"{_hit(hit)}, {_below(hit, recalled)}" for hit in recalled.perhaps)
    yield from _section("perhaps", below, recalled.perhaps, filled)
    notes = recalled.profile
    yield from _section("profile", map(_note, notes), notes, filled)
    yield from _section("stated", map(_hit, recalled.stated), recalled.stated, filled)
    yield from _section("past tasks", map(_hit, tasks), tasks, filled)


def _section(
    name: str, lines: Iterable[str], found: Iterable[Hit | Record], filled: Filled
) -> Iterator[str]:
    for place, (line, each) in enumerate(zip(lines, found, strict=True)):
        if not place:
            yield f"{name}:"
        yield f"  {line}, {_where(each, filled)}"


def _where(found: Hit | Record, filled: Filled) -> str:
    record = found.record if isinstance(found, Hit) else found
    if (record.owner, record.id) in filled.names:
        return "in the block"
    if isinstance(found, Hit) and not tells(found):
        return "left out: a question, small talk or a denial"
    return "left out: said already" if filled.says(record) else "left out: no room"


def _hit(hit: Hit) -> str:
    parts = ", ".join(
        f"{name} {value:.2f}" for name, value in hit.parts.items() if value and isfinite(value)
    )
    return f"{hit.score:.3f}  {hit.record.type} {hit.record.id}  {hit.text!r}  ({parts})"


def _below(hit: Hit, recalled: Recalled) -> str:
    floor, evidence = recalled.floors.get(hit.record.type, 0.0), hit.parts["evidence"]
    if evidence < floor:
        return f"evidence {evidence:.2f} is below the floor of {floor:.2f}"
    return "far behind the best of its type"


def _note(note: Note) -> str:
    why = [
        *(["pinned"] if note.pinned else []),
        note.kind,
        *([f"slot {one_line(note.slot)}"] if note.slot is not None else []),
        f"importance {note.importance:.2f}",
        f"mentions {note.mentions}",
    ]
    return f"note {note.id}  {note.text!r}  ({', '.join(why)})"
