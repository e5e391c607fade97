"""Whose memory it is: owners and their namespaces, and how a run says who its user is."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import PutOp, validate_op_namespace

from langgraph_memory.errors import ConfigurationError, MissingUserError
from langgraph_memory.graph.owner_ids import run_owner_id, run_user
from langgraph_memory.records.owners import (
    RECORD_TYPES,
    Owner,
    OwnerKind,
    RecordType,
    check_id,
    decode_label,
    encode_label,
    owner_of,
    readers,
    writer,
)

ANY_ID = st.text(st.characters(exclude_categories=()), min_size=1)  # also lone surrogates
# Few characters, and those that the encoding itself uses: so that labels can look alike.
TRICKY_ID = st.text(st.sampled_from("%u25.0A\0\ud800"), min_size=1, max_size=6)
KINDS: list[OwnerKind] = ["user", "project", "agent"]


# -- labels ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(ANY_ID | TRICKY_ID)
@example("%2E")
def test_any_text_becomes_a_label_that_langgraph_takes_and_comes_back(text: str) -> None:
    label = encode_label(text)
    validate_op_namespace(PutOp((label,), "k", {}))
    label.encode()  # UTF-8 has no lone surrogates
    assert decode_label(label) == text


@settings(deadline=None)
@given(ANY_ID | TRICKY_ID, ANY_ID | TRICKY_ID)
def test_two_texts_never_share_a_label(one: str, other: str) -> None:
    assert (encode_label(one) == encode_label(other)) is (one == other)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("c-2291", "c-2291"),
        ("ana@example.com", "ana@example%2Ecom"),
        ("a b/c_d:e*", "a b/c_d:e*"),
        ("用户 😀", "用户 😀"),
        ("100 %", "100 %25"),
        ("%2E", "%252E"),
        ("\0\n\x7f", "%00%0A%7F"),
        ("\ud800", "%uD800"),
        ("%uD800", "%25uD800"),
    ],
)
def test_a_label_stays_readable(text: str, label: str) -> None:
    assert encode_label(text) == label
    assert decode_label(label) == text


# -- ids and owners -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [("u1", "u1"), (" ", " "), (7, "7"), (0, "0"), (-1, "-1"), (10**20, "1" + "0" * 20)],
)
def test_an_id_is_text_or_an_integer(value: Any, text: str) -> None:
    for kind in KINDS:
        assert check_id(kind, value) == text


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_user_is_an_error_that_shows_how_to_name_one(value: Any) -> None:
    with pytest.raises(MissingUserError, match="pass user=, for example user='c-2291'"):
        check_id("user", value)


@pytest.mark.parametrize("value", [True, False, 1.5, b"u", ["u"], {"id": "u"}, object()])
@pytest.mark.parametrize("kind", KINDS)
def test_an_id_of_another_type_is_refused(kind: OwnerKind, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"{kind}= takes a non-empty string or an int"):
        check_id(kind, value)


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("kind", ["project", "agent"])
def test_an_empty_project_or_agent_is_refused(kind: OwnerKind, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{kind}= takes a non-empty string"):
        check_id(kind, value)


@settings(deadline=None)
@given(st.sampled_from(KINDS), ANY_ID | TRICKY_ID, st.sampled_from(RECORD_TYPES))
def test_the_owner_of_a_namespace_is_the_one_that_it_was_made_for(
    kind: OwnerKind, id: str, type: RecordType
) -> None:
    owner = Owner(kind, id)
    assert owner_of(owner.namespace(type)) == (owner, type)


@pytest.mark.parametrize(
    "namespace",
    [
        (),
        ("memory",),
        ("memory", "user", "u"),
        ("memory", "user", "u", "note", "more"),
        ("memory", "user", "u", "thing"),
        ("memory", "team", "u", "note"),
        ("memories", "user", "u", "note"),
        ("users", "u", "note", "x"),
    ],
)
def test_the_namespace_of_somebody_else_has_no_owner(namespace: tuple[str, ...]) -> None:
    assert owner_of(namespace) is None


def test_owners_of_different_kinds_and_ids_share_no_namespace() -> None:
    ids = ["u1", "u10", "u", "1", "U1", "u.1", "u%2E1", "u_1", "note"]
    namespaces = [
        Owner(kind, id).namespace(type) for kind in KINDS for id in ids for type in RECORD_TYPES
    ]
    assert len(set(namespaces)) == len(KINDS) * len(ids) * len(RECORD_TYPES)


def test_a_call_reads_its_user_its_project_and_its_agent() -> None:
    assert readers("u") == [Owner("user", "u")]
    assert readers(7, "p") == [Owner("user", "7"), Owner("project", "p")]
    assert readers("u", "p", 3) == [Owner("user", "u"), Owner("project", "p"), Owner("agent", "3")]


def test_a_record_belongs_to_the_one_that_is_named_most_closely() -> None:
    assert writer("u") == Owner("user", "u")
    assert writer("u", project="p") == Owner("project", "p")
    assert writer("u", agent="a") == Owner("agent", "a")
    with pytest.raises(ConfigurationError, match="project= or agent=, not both"):
        writer("u", "p", "a")


@pytest.mark.parametrize("user", [None, ""])
def test_neither_reading_nor_writing_goes_without_a_user(user: Any) -> None:
    for call in (readers, writer):
        with pytest.raises(MissingUserError):
            call(user, "p")


# -- the user of a run ----------------------------------------------------------------------------


@dataclass
class Context:
    user_id: Any = None
    project_id: Any = None


def runtime(context: Any = None, identity: Any = None) -> Any:
    user = None if identity is None else SimpleNamespace(identity=identity)
    return SimpleNamespace(context=context, server_info=SimpleNamespace(user=user))


def configured(**configurable: Any) -> RunnableConfig:
    return {"configurable": configurable}


@pytest.mark.parametrize(
    ("given", "config", "run", "expected"),
    [
        ("given", configured(user_id="config"), runtime(Context("context")), "given"),
        (None, configured(), runtime(Context("context")), "context"),
        (None, {}, runtime({"user_id": "context"}), "context"),
        (None, configured(user_id="config"), runtime(Context()), "config"),
        (None, configured(user_id="config"), runtime({}), "config"),
        (None, configured(user_id="config"), None, "config"),
        (None, configured(user_id=7), None, "7"),
        (None, {}, runtime(None, "server"), "server"),
        (None, configured(langgraph_auth_user_id="auth"), None, "auth"),
        (None, configured(langgraph_auth_user_id="auth"), runtime(None, "server"), "server"),
        (None, configured(user_id="u", langgraph_auth_user_id="u"), runtime(Context("u")), "u"),
        (None, configured(user_id="u", langgraph_auth_user_id=""), None, "u"),  # no auth
        (None, configured(user_id="7"), runtime(Context(7)), "7"),
        (lambda state, config: state["customer"], {}, None, "customer"),
        (lambda state, config: config["configurable"]["who"], configured(who=3), None, "3"),
    ],
)
def test_the_user_of_a_run_is_the_one_that_it_names(
    given: Any, config: RunnableConfig, run: Any, expected: str
) -> None:
    assert run_user(given, {"customer": "customer"}, config, run) == expected


@pytest.mark.parametrize(
    ("config", "run"),
    [
        (configured(user_id="one"), runtime(Context("two"))),
        (configured(user_id="one"), runtime({"user_id": "two"})),
        (configured(user_id="one"), runtime(None, "two")),
        (configured(user_id="one", langgraph_auth_user_id="two"), None),
        ({}, runtime(Context("one"), "two")),
        (configured(user_id="one"), runtime(Context("one"), "two")),
    ],
)
def test_a_run_that_names_two_users_is_refused_unless_the_node_says_which(
    config: RunnableConfig, run: Any
) -> None:
    """The words of one would go into the memory of the other."""
    with pytest.raises(
        ConfigurationError, match=r"more than one user: .* and .*user= of"
    ) as caught:
        run_user(None, {}, config, run)
    assert "'one'" in str(caught.value)
    assert "'two'" in str(caught.value)
    assert run_user("three", {}, config, run) == "three"


@pytest.mark.parametrize(
    "config",
    [
        {},
        configured(),
        configured(thread_id="t"),
        configured(langgraph_auth_user_id=""),
        {"configurable": None},
    ],
)
@pytest.mark.parametrize("run", [None, runtime(), runtime(Context()), runtime({"user": "u"})])
def test_a_run_that_names_no_user_is_an_error_that_shows_the_line_to_add(
    config: RunnableConfig, run: Any
) -> None:
    with pytest.raises(MissingUserError) as caught:
        run_user(None, {"messages": []}, config, run)
    for line in (
        '{"configurable": {"thread_id": "...", "user_id": "c-2291"}}',
        'context={"user_id": "c-2291"}',
        'recall_node(memory, user=lambda state, config: state["customer"])',
    ):
        assert line in str(caught.value)


@pytest.mark.parametrize(
    ("given", "config", "run"),
    [
        ("", {}, None),
        (lambda state, config: None, configured(user_id="config"), None),
        (lambda state, config: "", configured(user_id="config"), None),
        (None, configured(user_id=""), runtime(None, "server")),
        (None, configured(user_id="config"), runtime({"user_id": ""})),
        (None, {}, runtime(None, "")),
    ],
)
def test_an_empty_user_is_an_error_and_no_other_is_taken_instead(
    given: Any, config: RunnableConfig, run: Any
) -> None:
    with pytest.raises(MissingUserError):
        run_user(given, {}, config, run)


@pytest.mark.parametrize("value", [True, 1.5, ["u"], {"id": "u"}])
def test_a_user_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError):
        run_user(None, {}, configured(user_id=value), None)


def test_a_run_may_name_a_project_and_need_not() -> None:
    config = configured(user_id="u", project_id="p", langgraph_auth_user_id="auth")
    assert run_owner_id("project", None, {}, config, None) == "p"
    assert run_owner_id("project", "given", {}, config, None) == "given"
    assert run_owner_id("agent", None, {}, config, runtime(None, "server")) is None
    assert run_owner_id("project", None, {}, {}, runtime(Context(project_id="c"))) == "c"
