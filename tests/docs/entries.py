"""What is documented: classes with their members, functions, constants, as parts of a page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from tests.docs.docstrings import Attribute, Docstring, attributes, bases, bullets, signature
from tests.docs.documents import ROOT, anchor

_PACKAGE = "langgraph_memory"
_CALLED_BY_LANGCHAIN = ("MemoryMiddleware", "EpisodeRecorder")  # all of their methods are hooks
_MADE_BY_VERBS = ("OpenEpisode", "Sessions")
_STORED_FORM = ("to_value", "from_value", "id_of", "id_in")  # of records: what the store is given
_CALLED_BY_SURFACES = (
    "process_turn",
    "process_later",
    "keep_episode",
    "keep_proposed",
    "is_forgotten",
)
_LEFT_OUT = frozenset([*_STORED_FORM, *_CALLED_BY_SURFACES])
_ASYNC_FORM = "Async form of "


@dataclass(frozen=True, slots=True)
class Entry:
    """A documented name: a class with its members, a function, a constant."""

    file: str
    """Of its page."""
    name: str
    documented: Any
    module: str
    docstring: Docstring
    members: tuple[Entry, ...] = ()
    twin: str | None = None

    @classmethod
    def of(cls, file: str, path: str) -> Entry:
        """Find what a page names."""
        place, _, name = path.rpartition(".")
        module = import_module(".".join(filter(None, (_PACKAGE, place))))
        documented = getattr(module, name)
        if not (inspect.isclass(documented) or inspect.isroutine(documented)):
            written_in, constant = constants()[name]
            return cls(file, name, None, written_in, Docstring(constant.text, {}))
        docstring = Docstring.of(documented)
        members = tuple(_members(file, documented)) if inspect.isclass(documented) else ()
        return cls(file, name, documented, documented.__module__, docstring, members)

    @property
    def places(self) -> Iterator[tuple[str, str]]:
        """Yield where the name is documented, and where those of its members are."""
        for entry in (self, *self.members):
            yield entry.name, f"{self.file}.md#{anchor(entry.name)}"

    @property
    def called(self) -> Callable[..., Any] | None:
        """What is called by this name, if its arguments are shown."""
        if not inspect.isclass(self.documented):
            is_property = isinstance(self.documented, property)
            return None if is_property else _function(self.documented)
        if _is_record(self.documented) or self.name in _MADE_BY_VERBS:
            return None
        return vars(self.documented).get("__init__")

    @property
    def arguments(self) -> dict[str, str]:
        """What is said about each argument."""
        said = self.docstring.items("Args")
        return said or (Docstring.of(self.called).items("Args") if self.called else {})

    @property
    def signature(self) -> str:
        """The name with its parameters."""
        name = self.name.rpartition(".")[2]
        if isinstance(self.documented, property):
            return f"{name}: {inspect.signature(_function(self.documented)).return_annotation}"
        kind = "async def" if inspect.iscoroutinefunction(self.documented) else "def"
        if inspect.isclass(self.documented):
            kind = "class"
        if self.called is not None:
            return signature(self.called, f"{kind} {name}")
        made_of = bases(self.documented)
        return f"class {name}({', '.join(made_of)})" if made_of else f"class {name}"

    @property
    def code(self) -> str:
        """The signature and the attributes: what may name types."""
        shown = _attributes(self.documented) if inspect.isclass(self.documented) else ()
        return "\n".join([self.signature, *(each.shown for each in shown)])

    def parts(self, places: Mapping[str, str]) -> Iterator[str]:
        """Yield what the page says of it, from its heading on."""
        yield f"{'###' if '.' in self.name else '##'} `{self.name}`"
        if self.documented is not None:
            yield f"```pyi\n{self.signature}\n```"
        yield " ".join(filter(None, (self._twin, source(self.module), self._types(places))))
        yield linked(self._text(), places, self)
        for member in self.members:
            yield from member.parts(places)

    def _text(self) -> str:
        parts = [self.docstring.markdown()]
        if inspect.isclass(self.documented):
            if self.called is not None and self.called.__doc__:
                parts.append(Docstring.of(self.called).markdown())
            if shown := {each.shown: each.text for each in _attributes(self.documented)}:
                parts += ["**Attributes**", bullets(shown)]
        return "\n\n".join(filter(None, parts))

    @property
    def _twin(self) -> str | None:
        return self.twin and f"Async form: `{self.twin}`."

    def _types(self, places: Mapping[str, str]) -> str | None:
        """Return links to the types that the signature names."""
        if self.documented is None:
            return None
        named = dict.fromkeys(re.findall(r"\w+", self.code))
        links = [f"[`{n}`]({places[n]})" for n in named if n in places and n != self.name]
        return f"Types: {', '.join(links)}." if links else None


def _members(file: str, owner: type) -> Iterator[Entry]:
    """Yield the documented methods and properties of a class, and of what it is made of."""
    if owner.__name__ in _CALLED_BY_LANGCHAIN:
        return
    seen: set[str] = set()
    for each in _own(owner):
        for name, member in vars(each).items():
            function = _function(member)
            ours = str(getattr(function, "__module__", "")).startswith(_PACKAGE)
            documented = ours and (function.__doc__ or "")
            if name.startswith("_") or name in seen or not documented or name in _LEFT_OUT:
                continue
            seen.add(name)
            if documented.startswith(_ASYNC_FORM) or (name[0] == "a" and name[1:] in seen):
                continue
            twin = f"a{name}" if hasattr(owner, f"a{name}") else None
            yield Entry(
                file,
                f"{owner.__name__}.{name}",
                member,
                each.__module__,
                Docstring.of(function),
                twin=twin,
            )


def _function(member: object) -> Any:
    """Return the function behind a method of any kind; `None` if there is none."""
    if isinstance(member, (classmethod, staticmethod)):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    return member if inspect.isroutine(member) else None


def _own(owner: type) -> list[type]:
    """Return a class and those of this package that it is made of."""
    return [each for each in owner.__mro__ if each.__module__.startswith(_PACKAGE)]


def _is_record(owner: type) -> bool:
    """Whether a class is there for its attributes."""
    fields = hasattr(owner, "_fields") or hasattr(owner, "__required_keys__")
    model = issubclass(owner, BaseModel) and "__init__" not in vars(owner)
    return is_dataclass(owner) or fields or (model and owner.__bases__ == (BaseModel,))


def _attributes(owner: type) -> Iterator[Attribute]:
    """Yield the attributes of a record, and of another class those with a docstring."""
    record = _is_record(owner)
    for each in reversed(_own(owner)):
        for attribute in attributes(inspect.getsource(each)):
            variable = attribute.annotation.startswith("ClassVar")
            if attribute.text or (record and attribute.annotation and not variable):
                yield attribute


@cache
def constants() -> dict[str, tuple[str, Attribute]]:
    """Return the constants and type aliases of all modules; of one name those with a docstring."""
    found: dict[str, tuple[str, Attribute]] = {}
    for file in sorted((ROOT / _PACKAGE).rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for attribute in attributes(file.read_text("utf-8")):
            if attribute.name not in found or attribute.text:
                found[attribute.name] = module, attribute
    return found


# -- Markdown --


def source(module: str) -> str:
    """Return a link to a module; to no line of it, which any change would move."""
    path = module.replace(".", "/")
    file = f"{path}.py" if (ROOT / f"{path}.py").is_file() else f"{path}/__init__.py"
    return f"[Source](../../{file})."


def linked(text: str, places: Mapping[str, str], entry: Entry | None = None) -> str:
    """Make links of the names that a text has in backticks, but not of arguments."""
    owner = entry.name.partition(".")[0] if entry else ""
    own = {owner, entry.name} if entry else set()
    called = entry and entry.called
    arguments = inspect.signature(called).parameters if called else {}

    def link(match: re.Match[str]) -> str:
        name = match[1]
        full = f"{owner}.{name}" if f"{owner}.{name}" in places else name
        if full in own or full not in places or name in arguments:
            return match[0]
        return f"[`{name}`]({places[full]})"

    def to_page(match: re.Match[str]) -> str:
        is_page = (ROOT / "docs" / match[1]).is_file()
        return f"[docs/{match[1]}](../{match[1]})" if is_page else match[0]

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for place in range(0, len(pieces), 2):
        named = re.sub(r"(?<!\[)`([\w.]+)`(?!\])", link, pieces[place])
        pieces[place] = re.sub(r"`docs/([\w.]+)`", to_page, named)
    return "".join(pieces)
