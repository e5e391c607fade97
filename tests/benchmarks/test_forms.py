"""The labelled messages, as their README says, and the probe that is fitted on them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.forms import embedded, fit, fitted
from benchmarks.labelled import read
from langgraph_memory import forms
from langgraph_memory.form_words import marks
from langgraph_memory.forms import FORMS

MESSAGES = read("forms.jsonl")
TRAIN = [message for message in MESSAGES if message["split"] == "train"]
TEST = [message for message in MESSAGES if message["split"] == "test"]


def test_messages_are_whole_and_each_is_there_once() -> None:
    for message in MESSAGES:
        assert list(message) == "id language role text form salience asks split".split()
        assert message["text"].strip()
        assert message["role"] in ("user", "assistant")
        assert message["form"] in FORMS
        assert message["salience"] in (0, 1, 2, 3)
    assert len({message["id"] for message in MESSAGES}) == len(MESSAGES)
    assert len({(message["language"], message["text"]) for message in MESSAGES}) == len(MESSAGES)


def test_only_what_users_state_or_ask_for_is_worth_something() -> None:
    for message in MESSAGES:
        if message["salience"]:
            assert message["role"] == "user"
            assert message["form"] in ("statement", "request")
        if message["form"] == "request":
            assert message["asks"]


def test_two_languages_are_fitted_and_four_others_tested() -> None:
    assert Counter(message["language"] for message in TRAIN) == {"zh": 903, "en": 741}
    tested = {"en": 145, "zh": 144, "es": 73, "ja": 73, "de": 73, "fr": 31}
    assert Counter(message["language"] for message in TEST) == tested


@pytest.mark.slow
def test_the_weights_that_are_shipped_are_those_that_the_script_makes() -> None:
    marked = np.array([marks(message["text"]) for message in TEST], np.float32)
    vectors = embedded(TEST)
    made = fit(fitted(TRAIN)).scores(vectors, marked)
    np.testing.assert_allclose(forms._probe().scores(vectors, marked), made, atol=1e-2)
