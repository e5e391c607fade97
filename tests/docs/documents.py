"""Runs the examples of the documentation: what a reader copies has to work.

Run are the `python` blocks of Markdown pages and of docstrings, and the `>>>` examples of both.
All examples of one document share a namespace, as a reader pastes them into one session, and a
block may `await`. A block that cannot run says so in the line before it, with a reason, and still
has to compile:

    <!-- not run: needs a key -->
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from sybil import Document, Example, Region
from sybil.document import PythonDocStringDocument
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import pad
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown import CodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer
from sybil.typing import Evaluator

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"

SHOWN = {"bash", "console", "diff", "html", "ini", "json", "mermaid", "sql", "text", "toml", "yaml"}
"""Languages of blocks that are shown and not run."""

SHOWN_IN_REFERENCE = SHOWN | {"pycon", "pyi"}
"""On pages made of docstrings besides: signatures, and examples, which run where they stand."""

_PACKAGES = ("langgraph_memory", "langgraph_store_conformance")
_FENCES = RawFencedCodeBlockLexer(re.compile(r"(?P<info>[^\n]*)\n"))
_MARK = re.compile(r"<!--\s*not run\b:?(?P<reason>[^\n]*?)-->\s*\Z")
_EXAMPLE_SECTION = re.compile(r"^[ \t]*Examples?:[ \t]*$(?P<rest>.*)", re.MULTILINE | re.DOTALL)
_DOCTESTS = DocTestStringParser(DocTestEvaluator(doctest.ELLIPSIS))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchor(heading: str) -> str:
    """Return GitHub's anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def all_documents(root: Path = ROOT) -> list[Path]:
    """Return every Markdown page, and every module of the packages."""
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), root / "conformance" / "README.md"]
    modules = [*root.glob("langgraph_memory/**/*.py")]
    modules += root.glob("conformance/langgraph_store_conformance/**/*.py")
    return sorted(pages) + sorted(modules)


def has_examples(path: Path) -> bool:
    """Whether there is anything to run in a document."""
    return any(_parse(path, lambda _: None).examples())


def run(path: Path, left_out: Callable[[int, str], None]) -> None:
    """Run a document's examples in the current directory; `left_out` gets line and reason."""
    # A module of its own makes classes of the examples importable, as checkpoints need it.
    module = ModuleType("examples_of_" + re.sub(r"\W", "_", path.name))
    # Sybil imports the packages' modules anew; other tests hold classes of those that there are.
    imported = {name: each for name, each in sys.modules.items() if name.startswith(_PACKAGES)}
    sys.modules[module.__name__] = module
    try:
        with asyncio.Runner() as loop:

            def evaluate(example: Example) -> None:
                reason = _reason_not_to_run(example)
                source = pad(example.parsed, example.line + example.parsed.line_offset)
                flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                code = compile(source, example.path, "exec", flags=flags, dont_inherit=True)
                if reason is not None:
                    left_out(example.line, reason)
                elif inspect.iscoroutine(awaitable := eval(code, example.namespace)):
                    loop.run(awaitable)

            document = _parse(path, evaluate)
            document.namespace = vars(module)
            for example in document.examples():
                example.evaluate()
    finally:
        _close_what_is_open(vars(module).values())
        del sys.modules[module.__name__]
        sys.modules.update(imported)


def _close_what_is_open(values: Iterable[object]) -> None:
    """Close what a page has left open for its readers to go on with."""
    for value in values:
        if type(value).__module__.startswith(_PACKAGES) and callable(
            close := getattr(value, "close", None)
        ):
            close()


def overlooked(path: Path) -> list[str]:
    """Describe what looks like an example in a document and would not be run."""
    text = path.read_text(encoding="utf-8")
    found = []
    if re.search(r"#\s*doctest:.*\+SKIP", text):
        found.append("+SKIP gives no reason; use a block marked `<!-- not run: reason -->`")
    if path.suffix == ".py":
        found += [
            f"an Example section has neither `>>>` nor a python block: {section['rest'][:60]!r}"
            for _, _, docstring in PythonDocStringDocument.extract_docstrings(text)
            if (section := _EXAMPLE_SECTION.search(docstring))
            and not re.search(r">>> |```python", section["rest"])
        ]
    else:
        document = Document(text, str(path))
        shown = SHOWN_IN_REFERENCE if path.parent == REFERENCE else SHOWN
        found += [
            f"{document.line_column(fence.start)}: a block of {info!r} is not run; "
            f"call it python, or one of {', '.join(sorted(shown))}"
            for fence in _FENCES(document)
            if (info := fence.lexemes["info"].strip()) != "python" and info not in shown
        ]
    return found


def _parse(path: Path, evaluate: Evaluator) -> Document:
    blocks = CodeBlockParser("python", evaluate)

    def block_examples(document: Document) -> Iterator[Region]:
        for block in blocks(document):
            if not block.parsed.startswith(">>>"):
                yield block
                continue
            for example in _DOCTESTS(block.parsed, document.path):
                example.adjust(block, block.parsed)
                yield example

    if path.suffix == ".py":
        return PythonDocStringDocument.parse(str(path), block_examples, _bare_doctests)
    return Document.parse(str(path), block_examples)


def _bare_doctests(document: Document) -> Iterator[Region]:
    text = document.text
    for fence in _FENCES(document):
        blank = re.sub(r"[^\n]", " ", text[fence.start : fence.end])
        text = text[: fence.start] + blank + text[fence.end :]
    yield from _DOCTESTS(text, document.path)


def _reason_not_to_run(example: Example) -> str | None:
    mark = _MARK.search(example.document.text[: example.start])
    if mark is None:
        return None
    reason = mark["reason"].strip()
    assert reason, f"{example.path}:{example.line}: write <!-- not run: and the reason -->"
    return reason


def written_texts(root: Path = ROOT) -> str:
    """Return all texts in the package's source; what is filled in shows as `...`."""
    modules = root.glob("langgraph_memory/**/*.py")
    nodes = (node for file in modules for node in ast.walk(ast.parse(file.read_text("utf-8"))))
    return "\n".join(filter(None, map(_text, nodes)))


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "..." for value in values)
    return ""
