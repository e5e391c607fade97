"""What docstrings say, as Markdown: Google's sections, and the attributes of a class.

Read are the objects themselves, as `help` shows them; annotations are those of the source, since
every module has `from __future__ import annotations`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Any

SECTIONS = ("Args", "Returns", "Raises", "Example")

_HEADER = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)
_ITEM = re.compile(r"\n(?=\S)")
_FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring, taken apart."""

    text: str
    sections: dict[str, str]

    @classmethod
    def of(cls, documented: object) -> Docstring:
        """Take an object's docstring apart; one without is empty."""
        text, *rest = _HEADER.split(inspect.getdoc(documented) or "")
        bodies = (dedent(body).strip("\n") for body in rest[1::2])
        return cls(text.strip(), dict(zip(rest[::2], bodies, strict=True)))

    @property
    def summary(self) -> str:
        """The first sentence or line."""
        return self.text.partition("\n\n")[0].replace("\n", " ")

    def items(self, section: str) -> dict[str, str]:
        """Return what a section says about each name."""
        body = self.sections.get(section)
        pairs = [item.partition(":") for item in _ITEM.split(body)] if body else []
        return {name.strip(): _one_line(said) for name, _, said in pairs}

    def markdown(self) -> str:
        """Return all of it."""
        parts = [_FENCE.sub(r"```text\n\1```", self.text)]
        if arguments := self.items("Args"):
            parts += ["**Arguments**", bullets(arguments)]
        if returned := self.sections.get("Returns"):
            parts += ["**Returns**", _one_line(returned)]
        if raised := self.items("Raises"):
            parts += ["**Raises**", bullets(raised)]
        if example := self.sections.get("Example"):
            parts.append(f"```pycon\n{example}\n```")
        return "\n\n".join(filter(None, parts))


def bullets(said: dict[str, str]) -> str:
    """Return a list of names and of what is said about each."""
    return "\n".join(
        f"- `{name}`: {text}" if text else f"- `{name}`" for name, text in said.items()
    )


def signature(function: Callable[..., Any], shown_as: str) -> str:
    """Return a function's name, parameters and result; on one line if that is short."""
    parameters = list(inspect.signature(function).parameters.values())
    given = [p for p in parameters if p.name not in ("self", "cls")]
    returned = inspect.signature(function).return_annotation
    made = shown_as.startswith("class ") or returned is inspect.Signature.empty
    result = "" if made else f" -> {returned}"
    parts = [in_double_quotes(part) for part in _parts(given)]
    line = f"{shown_as}({', '.join(parts)}){result}"
    if len(line) <= _WIDTH:
        return line
    lines = indent("".join(f"{part},\n" for part in parts), "    ")
    return f"{shown_as}(\n{lines}){result}"


def _parts(parameters: list[inspect.Parameter]) -> Iterator[str]:
    keywords = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not keywords:
            yield "*"
        keywords |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        annotation = "" if p.annotation is p.empty else f": {p.annotation}"
        default = "" if p.default is p.empty else f" = {_default(p.default)}"
        yield f"{p.replace(annotation=p.empty, default=p.empty)}{annotation}{default}"


def _default(value: object) -> str:
    if inspect.isroutine(value):
        return value.__name__
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:_}"
    return repr(value)


def in_double_quotes(code: str) -> str:
    """Return code as it is written here; Python's own `repr` and `unparse` use single quotes."""
    return code if '"' in code else code.replace("'", '"')


def bases(owner: type) -> list[str]:
    """Return what a class is made of, as its source has it, but for what is private."""
    [node] = ast.parse(dedent(inspect.getsource(owner))).body
    named = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
    return [base for base in named if not base.startswith(("_", "Generic["))]


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a class or a module, as its source has it."""

    name: str
    annotation: str
    default: str
    text: str

    @property
    def shown(self) -> str:
        """The attribute with its type and its default."""
        default = f" = {self.default}" if self.default else ""
        shown = f"{self.name}: {self.annotation}{default}" if self.annotation else self.name
        return in_double_quotes(shown)


def attributes(source: str) -> list[Attribute]:
    """Return the attributes of a class or of a module, those that `__init__` sets among them."""
    body: list[ast.stmt] = ast.parse(dedent(source)).body
    if len(body) == 1 and isinstance(body[0], ast.ClassDef):
        body = body[0].body
        body += [each for node in body if _is_init(node) for each in _body(node)]
    found = []
    for node, following in zip(body, [*body[1:], None], strict=True):
        name = _target(node)
        if name is not None and (not name.startswith("_") or name.endswith("__")):
            found.append(_attribute(name, node, following))
    return found


def _is_init(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


def _body(node: ast.stmt) -> list[ast.stmt]:
    return node.body if isinstance(node, ast.FunctionDef) else []


def _target(node: ast.stmt | None) -> str | None:
    """Return what an assignment assigns to, if that is one name, or one of `self`."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else None


def _attribute(name: str, node: Any, following: ast.stmt | None) -> Attribute:
    value, text = node.value, ""
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        text = _one_line(inspect.cleandoc(str(following.value.value)))
    default = "" if value is None else ast.unparse(value)
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("field", "Field"):
        said = {keyword.arg: keyword.value for keyword in value.keywords}
        factory, given = said.get("default_factory"), said.get("default")
        default = f"{ast.unparse(factory)}()" if factory else ast.unparse(given) if given else ""
        if "description" in said:
            text = ast.literal_eval(said["description"])
    annotation = getattr(node, "annotation", None)
    return Attribute(name, ast.unparse(annotation) if annotation else "", default, text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
