"""The words of a message, in every form that its content can have, and nothing but them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.content import (
    KNOWN_BLOCK_TYPES,
    create_audio_block,
    create_file_block,
    create_image_block,
    create_plaintext_block,
    create_text_block,
    create_video_block,
)

from langgraph_memory.messages.langchain import words

DATA = "aWNoIGJpbiBnZWhlaW0="
URI = f"data:image/png;base64,{DATA}"
URL = "https://example.com/cat.png"
TEXT = {"type": "text", "text": "What did I pay?"}


def test_text_is_kept_as_it_is() -> None:
    assert words(HumanMessage("  What did\nI pay? ")) == "  What did\nI pay? "
    assert words(HumanMessage([TEXT])) == words(HumanMessage(["What did I pay?"]))
    assert words(HumanMessage(content_blocks=[create_text_block("What did I pay?")])) == (
        "What did I pay?"
    )


def test_parts_that_a_person_wrote_are_not_run_together() -> None:
    parts: list[Any] = ["Translate this", {"type": "text", "text": "Buenos días"}]
    assert words(HumanMessage(parts)) == "Translate this\nBuenos días"
    assert words(HumanMessage(["Which grinder ", {"type": "image", "url": URL}, "is this?"])) == (
        "Which grinder is this?"
    )


def test_pieces_of_a_models_text_are_put_together_as_they_were_cut() -> None:
    pieces: list[Any] = [
        {"type": "reasoning", "reasoning": "They want a price."},
        {"type": "thinking", "thinking": "They want a price.", "signature": DATA},
        {"type": "text", "text": "It cost 14 eu", "annotations": [{"type": "citation"}]},
        {"type": "text", "text": "ros"},
        {"type": "text", "text": " "},
        {"type": "text", "text": "a kilo."},
        {"type": "tool_use", "id": "1", "name": "price", "input": {"text": "no"}},
    ]
    for message in (AIMessage(pieces), AIMessageChunk(content=pieces)):
        assert words(message) == "It cost 14 euros a kilo."


@pytest.mark.parametrize(
    ("block", "label"),
    [
        (create_image_block(base64=DATA, mime_type="image/png", filename="receipt.png"), "image"),
        (create_audio_block(url=URL, name="receipt.png"), "audio"),
        (create_video_block(file_id="file-1", title="receipt.png"), "video"),
        (create_file_block(base64=DATA, mime_type="a/b", filename="receipt.png"), "file"),
        (create_plaintext_block(base64=DATA, title="receipt.png"), "file"),
        ({"type": "image", "url": URL, "filename": "receipt.png"}, "image"),
        ({"type": "image_url", "image_url": {"url": URI, "name": "receipt.png"}}, "image"),
        ({"type": "file", "file": {"filename": "receipt.png", "file_data": URI}}, "file"),
        ({"type": "input_file", "filename": "receipt.png", "file_data": URI}, "file"),
        (
            {
                "type": "file",
                "source_type": "base64",
                "data": DATA,
                "metadata": {"filename": "receipt.png"},
            },
            "file",
        ),
        (
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
                "title": "receipt.png",
            },
            "file",
        ),
        ({"document": {"name": "receipt.png", "source": {"bytes": b"x"}}}, "file"),
        ({"type": "media", "mime_type": "a/b", "data": DATA, "name": "receipt.png"}, "file"),
        (
            {
                "type": "non_standard",
                "value": {"type": "input_image", "image_url": URI, "title": "receipt.png"},
            },
            "image",
        ),
    ],
    ids=[
        "image",
        "audio",
        "video",
        "file",
        "text-plain",
        "a key of its own",
        "openai image",
        "openai file",
        "responses file",
        "v0 file",
        "anthropic document",
        "bedrock document",
        "google media",
        "non-standard",
    ],
)
def test_an_attachment_is_called_by_its_name(block: Any, label: str) -> None:
    message = HumanMessage([TEXT, block])
    assert words(message) == f"What did I pay?\n[{label}: receipt.png]"


def test_an_attachment_is_kept_with_its_caption() -> None:
    extras = {"filename": "r.png", "caption": "The bill of Monday"}
    message = HumanMessage([{"type": "image", "base64": DATA, "extras": extras}])
    assert words(message) == "[image: r.png, The bill of Monday]"
    assert words(HumanMessage([{"type": "image", "url": URL, "alt": "A cat"}])) == "[image: A cat]"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "url": URL},
        {"type": "image", "base64": DATA, "mime_type": "image/png", "id": "lc_1"},
        {"type": "image_url", "image_url": {"url": URI, "detail": "low"}},
        {"type": "image_url", "image_url": URI},
        {"type": "image", "url": URL, "title": URI},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"image": {"format": "png", "source": {"bytes": b"x"}}},
        {"type": "tool_result", "content": "22 degrees"},
        {"type": "server_tool_result", "tool_call_id": "1", "output": "22 degrees"},
        {"type": "non_standard", "value": {"type": "executable_code", "text": "print(1)"}},
        {"type": ["text"], "text": "x"},
        {"type": "text", "text": 5},
        {"type": "text"},
        {},
    ],
    ids=str,
)
def test_what_is_no_words_and_has_no_name_is_nothing(block: Any) -> None:
    assert words(HumanMessage([block])) == ""


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (create_plaintext_block("Milk, bread"), "Milk, bread"),
        (create_plaintext_block("Milk", title="list.txt"), "[file: list.txt]\nMilk"),
        ({"type": "file", "source_type": "text", "text": "Milk, bread"}, "Milk, bread"),
        ({"type": "document", "source": {"type": "text", "data": "Milk, bread"}}, "Milk, bread"),
        ({"type": "input_text", "text": "Milk, bread"}, "Milk, bread"),
        ({"text": "Milk, bread"}, "Milk, bread"),
        ({"type": "refusal", "refusal": "I cannot help with that."}, "I cannot help with that."),
        ({"type": "audio", "url": URL, "transcript": "Milk, bread"}, "Milk, bread"),
    ],
)
def test_all_that_is_written_refused_or_transcribed_is_kept(block: Any, text: str) -> None:
    assert words(HumanMessage([block])) == text


def test_an_answer_that_was_spoken_is_kept_as_its_transcript() -> None:
    audio = {"id": "audio_1", "data": DATA, "transcript": "It cost 14 euros."}
    assert words(AIMessage("", additional_kwargs={"audio": audio})) == "It cost 14 euros."
    assert words(AIMessage("Written", additional_kwargs={"audio": audio})) == "Written"


def test_data_inside_a_text_is_cut_out_of_it() -> None:
    assert words(AIMessage(f"Here: ![a chart]({URI}), as asked")) == "Here: ![a chart](), as asked"
    assert words(HumanMessage([{"type": "text", "text": URI}, "seen?"])) == "seen?"
    for text in ("What does ;base64, mean?", "data: 5, 6", "data:text/plain,hello"):
        assert words(HumanMessage(text)) == words(HumanMessage([text])) == text
        assert words(HumanMessage([{"type": "text", "text": text}])) == text
    long = f"data:{'a' * 1_000_000};base64,"
    assert words(HumanMessage(long)) == long


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "value", "source", "extras", "file", "name", "image"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
TYPES = st.sampled_from([*sorted(KNOWN_BLOCK_TYPES), "image_url", "document", "media"])


@settings(deadline=None)
@given(
    st.lists(
        st.text()
        | st.builds(lambda type, rest: {**rest, "type": type}, TYPES, st.dictionaries(TYPES, JSON))
        | st.dictionaries(st.text(max_size=5), JSON),
        max_size=4,
    ),
    st.sampled_from([HumanMessage, AIMessage]),
)
def test_no_content_however_odd_breaks_a_conversation(
    content: list[Any], of: type[BaseMessage]
) -> None:
    assert isinstance(words(of(content)), str)


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=4))
def test_the_text_of_a_models_blocks_is_what_langchain_says_it_is(texts: list[str]) -> None:
    message = AIMessage([{"type": "text", "text": text} for text in texts])
    assert words(message) == message.text
