"""Keys, labels and values of any kind come back as they were put."""

from __future__ import annotations

from typing import Any

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import close, same
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)

TEXTS = {
    "emoji": "👩‍👩‍👧‍👦🙂",
    "chinese": "我喜欢绿茶",
    "arabic": "صباح الخير",
    "combining": "e\u0301",
    "space": " a  b ",
    "newline": "a\nb\r\n\tc",
    "slash": "a/b\\c",
    "quotes": 'it\'s "x" `y`',
    "wildcards": "%_*?[a]{b}$",
    "sql": "'; DROP TABLE store; --",
    "control": "\x01\x1f\x7f",
    "line-separator": "a\u2028b\ufeff",
    "beyond-the-plane": "\U0001f9ff\U00020000",
}
KEYS = {**TEXTS, "dot": "a.b", "NUL": "a\0b", "empty": "", "long": "k" * 10_000}
LABELS = {**TEXTS, "long": "a" * 1_000, "looks-like-json": '["a"]'}
VALUES: dict[str, Any] = {
    **{f"text-{name}": text for name, text in TEXTS.items()},
    "text-NUL": "a\0b",
    "text-of-a-megabyte": "0123456789abcdef" * 65_536,
    "none": None,
    "true": True,
    "false": False,
    "empty-text": "",
    "empty-list": [],
    "empty-dict": {},
    "int": 42,
    "int-of-54-bits": 2**53 + 1,
    "int-of-63-bits": 2**63 - 1,
    "int-of-80-bits": 2**80 + 1,
    "float": 0.1,
    "float-tiny": 5e-324,
    "float-huge": 1.7976931348623157e308,
    "list-mixed": [1, "x", None, True, 2.5, [], {}],
    "dict-in-list-in-dict": {"a": [{"b": [{"c": 1}]}]},
    "looks-like-a-date": "2026-01-31T10:00:00Z",
    "looks-like-json": '{"a": 1}',
}


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"d": value}
    return value


@rule(Capability.TEXT, cases=KEYS)
async def a_key_may_be_any_text(store: Subject, key: str) -> None:
    """An item is read, found and deleted under the very key that it was put under."""
    await store.put(NS, key, {"n": 1})
    same(await store.value(NS, key), {"n": 1})
    same(await store.keys(NS), [key])
    await store.delete(NS, key)
    same(await store.keys(NS), [])


@rule(Capability.TEXT, cases=LABELS)
async def a_label_may_be_any_text_without_a_period(store: Subject, label: str) -> None:
    """A namespace of such labels is read, found and listed."""
    namespace = (label, "x")
    await store.put(namespace, "k", {"n": 1})
    same(await store.value(namespace, "k"), {"n": 1})
    same([item.namespace for item in await store.search((label,))], [namespace])
    same(await store.list_namespaces(prefix=(label,)), [namespace])


@rule(Capability.TEXT, cases=VALUES)
async def a_value_may_be_any_json(store: Subject, value: Any) -> None:
    """What JSON has comes back as it was put, of the same type."""
    await store.put(NS, "k", {"v": value})
    got = await store.value(NS, "k")
    same(got, {"v": value})
    same(type(got["v"]), type(value))


@rule(
    Capability.TEXT, cases={"dot": "a.b", "dollar": "$x", "empty": "", "quote": "it's", "茶": "茶"}
)
async def a_key_of_a_value_may_be_any_text(store: Subject, key: str) -> None:
    """The keys of a value may be any text."""
    await store.put(NS, "k", {key: {key: 1}})
    same(await store.value(NS, "k"), {key: {key: 1}})


@rule(Capability.TEXT, cases={"50": 50, "200": 200})
async def a_value_may_be_deeply_nested(store: Subject, levels: int) -> None:
    """Dicts in dicts come back at any reasonable depth."""
    await store.put(NS, "k", _deep(levels))
    same(await store.value(NS, "k") == _deep(levels), True)


@rule(Capability.TEXT)
async def a_value_may_have_many_keys(store: Subject) -> None:
    """A value with a thousand keys comes back."""
    value = {f"k{i}": i for i in range(1_000)}
    await store.put(NS, "k", value)
    same(await store.value(NS, "k"), value)


@rule(Capability.TEXT, cases={**TEXTS, "NUL": "a\0b"})
async def a_filter_finds_any_text(store: Subject, text: str) -> None:
    """A filter finds a text of any kind."""
    await store.put(NS, "k", {"s": text})
    await store.put(NS, "other", {"s": text + "x"})
    same(await store.keys(NS, filter={"s": text}), ["k"])


@rule(
    Capability.TEXT,
    fields=["text"],
    cases={name: TEXTS[name] for name in ("emoji", "chinese", "arabic", "newline", "control")}
    | {"empty": "", "space": "  ", "megabyte": "x" * 2**20},
)
async def any_text_can_be_indexed(store: Subject, text: str) -> None:
    """A text of any kind may stand in an indexed field; where it says something, it is found."""
    await store.put(NS, "k", {"text": text})
    same(await store.value(NS, "k"), {"text": text})
    if text.strip():
        close((await store.scores(NS, text)).get("k"), 1.0)
