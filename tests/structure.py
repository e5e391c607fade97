"""Counts what the package's structure is judged by; `python -m tests.structure` prints them.

A reader pays for each file that an idea is spread over, for each thing that is written twice, and
for each line.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tempfile
import threading
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import langgraph_memory

PACKAGE = Path(langgraph_memory.__file__).parent

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    """Return the files of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def root_files() -> list[str]:
    """Return the names of the files in the package's root."""
    return sorted(each.name for each in PACKAGE.iterdir() if each.is_file())


def lines_of_code() -> int:
    """Return how many lines hold code: neither blank, nor of a comment or a docstring alone."""
    return sum(len(_lines_with_code(each.read_text("utf-8"))) for each in modules())


def _lines_with_code(source: str) -> set[int]:
    beside = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in beside:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def names_defined_twice() -> dict[str, list[str]]:
    """Return the public classes and functions of more than one module, with their modules."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            # `main` begins a program: three modules are run as one.
            if isinstance(node, Definition) and not node.name.startswith(("_", "main")):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    return {name: where for name, where in found.items() if len(where) > 1}


def written_twice() -> list[str]:
    """Return the coroutines that stand beside a function of the same name without the `a`."""
    return [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in modules()
        for body in _bodies(ast.parse(path.read_text("utf-8")))
        for name in _pairs(body)
    ]


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    yield tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.body


def _pairs(body: list[ast.stmt]) -> Iterator[str]:
    plain = {each.name for each in body if isinstance(each, ast.FunctionDef)}
    coroutines = {each.name for each in body if isinstance(each, ast.AsyncFunctionDef)}
    for name in sorted(coroutines):
        if {name.removeprefix("a"), name.replace("_a", "_", 1)} & plain:
            yield name


def run_through(action: Callable[[], Any]) -> tuple[set[str], set[Any]]:
    """Return the modules and the functions of the package that `action` runs through."""
    files: set[str] = set()
    functions: set[Any] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            files.add(str(Path(code.co_filename).relative_to(PACKAGE)))
            functions.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files, functions


def warm_recall(directory: Path) -> tuple[set[str], set[Any]]:
    """Return what a second recall runs through, in a folder with a few records."""
    with _memory(directory) as memory:
        memory.remember("Allergic to walnuts", user="ana")
        memory.log_turn(
            [("user", "I moved to Lisbon in May"), ("ai", "Noted")], user="ana", thread_id="t"
        )
        memory.recall("What am I allergic to?", user="ana")
        return run_through(lambda: memory.recall("Where do I live?", user="ana").prompt())


def graph_turn(directory: Path) -> tuple[set[str], set[Any]]:
    """Return what the second turn of a graph runs through, memory's nodes around its own."""
    from langgraph.graph import START, StateGraph

    from langgraph_memory import MemoryState, messages_with_memory, recall_node, remember_node

    def model(state: Any) -> dict[str, Any]:
        return {"messages": [("ai", f"I read {len(messages_with_memory(state))} messages")]}

    with _memory(directory) as memory:
        graph: Any = StateGraph(MemoryState)
        graph.add_node("recall", recall_node(memory))
        graph.add_node("model", model)
        graph.add_node("remember", remember_node(memory))
        for one, next in pairwise((START, "recall", "model", "remember")):
            graph.add_edge(one, next)
        agent = graph.compile()
        config: Any = {"configurable": {"user_id": "ana", "thread_id": "t"}}

        def turn(text: str) -> object:
            return agent.invoke({"messages": [("user", text)]}, config)

        turn("I moved to Lisbon in May")
        return run_through(lambda: turn("Where do I live?"))


def _memory(directory: Path) -> Any:
    from langgraph_memory import ChromaStore, Memory
    from langgraph_memory.testing import HashingEmbeddings

    return Memory(ChromaStore(directory, embed=HashingEmbeddings()))


def counted() -> dict[str, int]:
    """Return each count by its name."""
    with tempfile.TemporaryDirectory() as directory:
        recall = warm_recall(Path(directory, "recall"))
        turn = graph_turn(Path(directory, "turn"))
    return {
        "files in the root": len(root_files()),
        "modules": len(modules()),
        "modules of a warm recall": len(recall[0]),
        "functions of a warm recall": len(recall[1]),
        "modules of a graph turn": len(turn[0]),
        "functions of a graph turn": len(turn[1]),
        "names defined twice": len(names_defined_twice()),
        "written twice": len(written_twice()),
        "lines of code": lines_of_code(),
    }


if __name__ == "__main__":
    for name, number in counted().items():
        sys.stdout.write(json.dumps({"counted": name, "number": number}) + "\n")
