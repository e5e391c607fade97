"""A memory that stays small: what is said twice, is over, or fades, gives way by night.

    python -m examples.forgetting

What a note is worth is said when it is written: 0 trivial, .5 useful, 1 critical. A scheduler calls
`consolidate` each night. Nothing is deleted: what was put away can be brought back. The clock is
moved by hand here, so that a year passes at once.
"""

from __future__ import annotations

from examples.command_line import options
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.testing import ManualClock

USER = "c-2291"
NOTES = {
    "Has a dog": 0.5,
    "The user has a dog.": 0.5,
    "Asked for the way to the station": 0.15,
    "Is allergic to nuts": 0.9,
}


def show(memory: Memory, when: str) -> None:
    """Print the notes that count now."""
    print(f"\n{when}:")
    for note in memory.list(user=USER):
        print(f"    {note.text}")


def use(memory: Memory, clock: ManualClock) -> None:
    """Note some things, and let a night and a year go by."""
    memory.forget(user=USER, everything=True)  # so that each run begins anew
    for text, importance in NOTES.items():
        memory.remember(text, user=USER, importance=importance)
    show(memory, "today")

    clock.advance(days=1)
    planned = memory.consolidate(user=USER, dry_run=True)
    print(
        "\nplanned:",
        *(f"{change.action}: {change.record.text}" for change in planned),
        sep="\n    ",
    )
    memory.consolidate(user=USER)
    show(memory, "after a night")

    clock.advance(days=365)
    [faded] = memory.consolidate(user=USER)
    show(memory, "after a year")
    memory.undo(faded.id, user=USER)
    show(memory, f"after undo ({faded.action})")


def main() -> None:
    """Let one user's memory grow old."""
    given = options(__doc__, "forgetting", model=False)
    clock = ManualClock()
    with Memory(ChromaStore(given.path), clock=clock) as memory:
        use(memory, clock)


if __name__ == "__main__":
    main()
