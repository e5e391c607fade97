"""What was done to a store, as lines of Python that a reader can try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from reprlib import Repr
from textwrap import shorten
from typing import Any

from langgraph.store.base import NOT_PROVIDED, Item, SearchItem

_DEFAULTS = {
    "index": None,
    "ttl": NOT_PROVIDED,
    "refresh_ttl": None,
    "query": None,
    "filter": None,
    "limit": None,
    "offset": 0,
    "prefix": None,
    "suffix": None,
    "max_depth": None,
}
_PAGE = {"search": 10, "list_namespaces": 100}
_SHOWN = 12
_SHOWN_OF_A_BATCH = 4


class _Short(Repr):
    """A `repr` in which what is very long or very deep is cut, and an item is a call."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 90
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 12
        self.maxlevel = 8
        self.maxlong = 60

    def repr_Item(self, item: Item, level: int) -> str:
        return f"Item({self.repr1(item.key, level)}: {self.repr1(item.value, level - 1)})"

    def repr_SearchItem(self, item: SearchItem, level: int) -> str:
        score = "" if item.score is None else f", score={item.score:.3f}"
        return f"{self.repr_Item(item, level)[:-1]}{score})"

    def repr_timedelta(self, time: timedelta, level: int) -> str:
        return f"{time.total_seconds():.1f} seconds between them"

    def repr_float(self, number: float, level: int) -> str:
        return repr(round(number, 4)) if abs(number) < 1e6 else repr(number)

    def repr_dict(self, value: dict[Any, Any], level: int) -> str:
        # The base class sorts; the order of a dict says what was found first.
        if not value:
            return "{}"
        if level <= 0:
            return "{...}"
        pairs = [
            f"{self.repr1(key, level - 1)}: {self.repr1(inner, level - 1)}"
            for key, inner in list(value.items())[: self.maxdict]
        ]
        return "{" + ", ".join(pairs + ["..."] * (len(value) > self.maxdict)) + "}"


def _repr_operation(self: _Short, op: Any, level: int) -> str:
    defaults = op._field_defaults
    shown = [
        self.repr1(value, level - 1) if place < 2 else f"{name}={self.repr1(value, level - 1)}"
        for place, (name, value) in enumerate(zip(op._fields, op, strict=True))
        if name not in defaults or value != defaults[name]
    ]
    return f"{type(op).__name__}({', '.join(shown)})"


for _name in ("GetOp", "PutOp", "SearchOp", "ListNamespacesOp", "MatchCondition"):
    setattr(_Short, f"repr_{_name}", _repr_operation)

short = _Short().repr
"""`repr`, cut where it is long."""


def one_line(text: str) -> str:
    """Return a text on one line, cut where it is long."""
    return shorten(text, 160, placeholder=" ...")


def _batch(ops: Sequence[Any]) -> str:
    shown = [short(op) for op in ops[:_SHOWN_OF_A_BATCH]]
    if len(ops) > _SHOWN_OF_A_BATCH:
        shown[-1] = f"... {len(ops) - _SHOWN_OF_A_BATCH + 1} more"
    return f"[{', '.join(shown)}]"


class Example:
    """The calls so far."""

    def __init__(self) -> None:
        self._calls: list[str] = []
        self._made = 0

    def again(self) -> None:
        """Forget the calls, for a test that goes on with what is as good as a new store."""
        self._calls = self._calls[: self._made]

    def start(self, made_with: Mapping[str, Any]) -> None:
        """Begin anew, with a store that was made in a certain way."""
        given = [f"{name}={value!r}" for name, value in made_with.items() if value is not None]
        self._calls = [f"store = make({', '.join(given)})"] if given else []
        self._made = len(self._calls)

    def copy(self) -> Example:
        """Return the calls so far, to come back to."""
        copied = Example()
        copied.restore(self)
        return copied

    def replace(self, old: str, new: str) -> None:
        """Write something otherwise in all calls."""
        self._calls = [line.replace(old, new) for line in self._calls]

    def restore(self, other: Example) -> None:
        """Take over the calls of another example."""
        self._calls, self._made = list(other._calls), other._made

    def called(self, line: str) -> None:
        """Note one call."""
        self._calls.append(line)

    def called_method(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note a call of a method of the store."""
        shown = [short(arg) for arg in args]
        if name in ("batch", "abatch") and isinstance(args[0], list):
            shown = [_batch(args[0])]
        page = {"limit": _PAGE.get(name.removeprefix("a"))}
        shown += [
            f"{key}={short(value)}"
            for key, value in kwargs.items()
            if value != {**_DEFAULTS, **page}.get(key) or isinstance(value, bool)
        ]
        self.called(f"{'await ' * name.startswith('a')}store.{name}({', '.join(shown)})")

    def lines(self) -> list[str]:
        """Return the calls; of very many, the first and the last."""
        if len(self._calls) <= _SHOWN:
            return list(self._calls)
        left_out = len(self._calls) - _SHOWN + 1
        half = _SHOWN // 2
        return [*self._calls[:half], f"# ... {left_out} more calls", *self._calls[1 - half :]]
