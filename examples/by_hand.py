"""A memory that your own code manages: add, list, search, remove, count. No agent, no model.

    python -m examples.by_hand

The verbs of `Memory`, one after the other, and then the store below it, which keeps anything:
values in namespaces, found by meaning and by filters, as LangGraph's other stores do.
"""

from __future__ import annotations

from examples.command_line import options
from langgraph_memory import ChromaStore, Memory

USER = "c-2291"
RECIPES = {
    "moka": "Moka pot: grind fine, fill to the valve, small flame",
    "press": "French press: grind coarse, four minutes, press slowly",
}


def manage(memory: Memory) -> None:
    """Add notes, look at them in all ways that there are, and remove them."""
    memory.forget(user=USER, everything=True)  # so that each run begins anew
    brews = memory.remember("Brews with a moka pot", user=USER, kind="preference", importance=0.7)
    memory.remember("Has a hand mill", user=USER, metadata={"from": "order 17"})
    memory.remember("Drinks Colombia", user=USER, kind="preference", pinned=True)
    print("all:            ", [note.text for note in memory.list(user=USER)])
    print("with a word:    ", [note.text for note in memory.list(user=USER, contains="mill")])
    liked = memory.list(user=USER, kinds=["preference"])
    print("preferences:    ", sorted(note.text for note in liked))
    found = memory.recall("moka pot", user=USER, types=["note"], limit=1)
    print("best match:     ", [hit.text for hit in found])
    print("of a chess game:", list(memory.recall("Who won the chess game?", user=USER)))

    memory.forget(brews.record.id, user=USER)
    memory.forget(text="Has a hand mill", user=USER)
    print("after two left: ", [note.text for note in memory.list(user=USER)])
    print("count:          ", memory.count(user=USER)["note"])
    memory.forget(user=USER, everything=True)
    print("after all left: ", memory.count(user=USER)["note"])


def search(store: ChromaStore) -> None:
    """Keep values of any kind in a namespace, and find the nearest of a kind."""
    for key, text in RECIPES.items():
        store.put(("recipes",), key, {"text": text, "cups": 3 if key == "moka" else 8})
    near = store.search(("recipes",), query="How fine do I grind for a moka pot?", limit=1)
    print("nearest recipe: ", [item.key for item in near])
    many = store.search(("recipes",), query="coffee", filter={"cups": {"$gte": 5}})
    print("for many cups:  ", [item.key for item in many])
    store.delete(("recipes",), "press")
    print("keys that stay: ", [item.key for item in store.search(("recipes",))])


def main() -> None:
    """Manage one user's memory, and a namespace of something else."""
    given = options(__doc__, "by-hand", model=False)
    with ChromaStore(given.path) as store, Memory(store) as memory:
        manage(memory)
        search(store)


if __name__ == "__main__":
    main()
