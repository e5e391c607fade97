"""Writes docs/reference: a page for each theme of the public API, made of its docstrings.

`make docs` writes the pages, and a test compares them with what the docstrings say. A name stands
on one page; a type that a signature names, such as `Kind`, is on the page of types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from langgraph_memory import errors, testing
from tests.docs.docstrings import Attribute, Docstring, in_double_quotes
from tests.docs.documents import REFERENCE, anchor
from tests.docs.entries import Entry, constants, linked, source

_TYPES = "types"
_MADE = "<!-- Made of the docstrings by `make docs`: change those. -->"


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and the names on it; those of other modules with the module before them."""

    file: str
    title: str
    text: str
    names: tuple[str, ...]


PAGES = (
    Page(
        "memory",
        "Memory",
        "The verbs. Each has an async form, `arecall` of `recall`, with the same arguments; after "
        "the first argument all are keywords. Any of them raises a `ConfigurationError` for an "
        "argument that it cannot take, and a `StoreError` where the store fails; what else may go "
        "wrong is said with each. Times that are given or returned are aware.",
        (
            "Memory",
            "OpenEpisode",
            "Outbox",
            "deliver_outbox",
            "redaction.redact_secrets",
            "redaction.redactor",
        ),
    ),
    Page(
        "records",
        "Records",
        "What a memory holds, and what its verbs return: frozen, and never changed in place.",
        (
            "Recalled",
            "Hit",
            "Note",
            "Message",
            "Episode",
            "Document",
            "Source",
            "Extraction",
            "Change",
            "Receipt",
            "Backup",
            "Candidate",
            "Rating",
        ),
    ),
    Page(
        "graphs",
        "Nodes, middleware and callbacks",
        "Memory around a node of any graph, in an agent of `create_agent`, and around every run. "
        "[Middleware](../middleware.md) and [the rolling summary](../summary.md) have pages of "
        "their own. What is said of `SavingReply` is what the model reads.",
        (
            "MemoryState",
            "recall_node",
            "messages_with_memory",
            "remember_node",
            "with_memory",
            "MemoryMiddleware",
            "EpisodeRecorder",
            "SummaryState",
            "summary_node",
            "messages_with_summary",
            "SavingReply",
            "ReplyStream",
            "MemoryEvent",
            "MemoryItem",
        ),
    ),
    Page(
        "tools",
        "Tools and MCP",
        "A model that keeps a memory itself: [in an agent](../tools.md), and in any client of the "
        "[Model Context Protocol](../mcp.md). What stands in `langgraph_memory.mcp` needs the "
        "extra `mcp`.",
        (
            "memory_tools",
            "TOOLS_PROMPT",
            "mcp.memory_server",
            "mcp.serve_stdio",
            "mcp.http_app",
            "mcp.Tokens",
            "mcp.Bearer",
            "mcp.TokensFile",
            "mcp.Connections",
        ),
    ),
    Page(
        "sessions",
        "Sessions",
        "LangGraph threads that are kept on disk, and are open to their own user alone.",
        ("open_sessions", "Sessions", "Session", "Snapshot", "open_checkpointer"),
    ),
    Page(
        "ranking",
        "Ranking",
        "What a recall is ranked by, and from which evidence on something is known; "
        "[Recall](../retrieval.md) tells how the numbers were found.",
        ("Ranking", "Floors", "Quotas"),
    ),
    Page(
        "store",
        "Store",
        "[A LangGraph store](../store.md) on one Chroma collection, and what looks after "
        "[its directory](../storage.md).",
        (
            "ChromaStore",
            "open_store",
            "ExtendedFilter",
            "UniversalSentenceEncoder",
            "doctor",
            "reembed",
            "compact",
            "Report",
        ),
    ),
    Page(
        "errors",
        "Errors",
        Docstring.of(errors).markdown(),
        (
            "LangGraphMemoryError",
            "ConfigurationError",
            "MissingUserError",
            "EmbedderMismatchError",
            "RecordNotFoundError",
            "ModelError",
            "ThreadOwnerError",
            "StoreError",
            "StoreLockedError",
            "StoreAwayError",
        ),
    ),
    Page(
        "testing",
        "Testing",
        "Fakes, in `langgraph_memory.testing`: no network, no key, the same result every time.",
        tuple(f"testing.{name}" for name in testing.__all__),
    ),
    Page(
        _TYPES,
        "Types and constants",
        "What signatures name, beside classes. They are here to be read: import none of them.",
        ("__version__",),
    ),
)


def pages() -> dict[Path, str]:
    """Return all pages, by the file in which each is to be."""
    found = [(page, [Entry.of(page.file, name) for name in page.names]) for page in PAGES]
    aliases = _aliases(entry for _, entries in found for entry in entries)
    places = {name: f"{_TYPES}.md#{anchor(name)}" for name in aliases}
    for _, entries in reversed(found):
        places |= {target: place for entry in entries for target, place in entry.places}
    written = {}
    for page, entries in found:
        own = {target: place for entry in entries for target, place in entry.places}
        here = {**places, **own}  # more than one page has a `Report`
        listed = aliases if page.file == _TYPES else {}
        parts = [
            _head(page, entries, listed, here),
            *(part for entry in entries for part in entry.parts(here)),
        ]
        parts += [part for alias in listed.items() for part in _alias_parts(*alias, here)]
        written[REFERENCE / f"{page.file}.md"] = "\n\n".join(parts) + "\n"
    return written


def main() -> None:
    """Write the pages, and remove what is none of them."""
    written = pages()
    REFERENCE.mkdir(exist_ok=True)
    for path in set(REFERENCE.glob("*")) - written.keys():
        path.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")


def _head(
    page: Page,
    entries: Sequence[Entry],
    aliases: Mapping[str, tuple[str, Attribute]],
    places: Mapping[str, str],
) -> str:
    listed = [line for entry in entries for line in _listed(entry)]
    listed += [
        _line(name, alias.text or in_double_quotes(f"`{alias.default}`"))
        for name, (_, alias) in aliases.items()
    ]
    text = linked(page.text, places)
    return "\n\n".join([_MADE, f"# {page.title}", text, "\n".join(listed)])


def _listed(entry: Entry) -> Iterator[str]:
    """Yield a line for a name and for each of its members, by what these are about."""
    yield _line(entry.name, entry.docstring.summary)
    modules = dict.fromkeys(member.module for member in entry.members)
    for module in modules:
        if len(modules) > 1:
            yield f"\n{Docstring.of(import_module(module)).summary}\n"
        for member in entry.members:
            if member.module == module:
                yield _line(member.name, member.docstring.summary)
    if len(modules) > 1:
        yield ""


def _line(name: str, summary: str) -> str:
    return f"- [`{name}`](#{anchor(name)}): {summary}"


def _aliases(entries: Iterable[Entry]) -> dict[str, tuple[str, Attribute]]:
    """Return the type aliases that signatures name, and those that these name in turn."""
    shown = [each for entry in entries for each in (entry, *entry.members)]
    public = {entry.name for entry in shown}
    asked = [entry.code for entry in shown if entry.documented is not None]
    found: dict[str, tuple[str, Attribute]] = {}
    while asked:
        for name in re.findall(r"\b[A-Z]\w*[a-z]\w*", asked.pop()):
            if name in constants() and name not in public | found.keys():
                if constants()[name][1].default.startswith("TypeVar("):
                    continue
                found[name] = constants()[name]
                asked.append(found[name][1].default)
    return dict(sorted(found.items()))


def _alias_parts(
    name: str, alias: tuple[str, Attribute], places: Mapping[str, str]
) -> Iterator[str]:
    module, attribute = alias
    yield f"## `{name}`"
    yield in_double_quotes(f"```pyi\n{name} = {attribute.default}\n```")
    yield source(module)
    if attribute.text:
        yield linked(attribute.text, places)


if __name__ == "__main__":
    main()
