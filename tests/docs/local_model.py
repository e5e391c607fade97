"""What pages ask of a server by OpenAI's protocol: a model that does as it is told, in one way."""

from __future__ import annotations

import json
import re
from html import unescape

from langgraph_memory.models.prompts import EXTRACTION
from tests.openai_server import Json

_FIRST = re.compile(r"<message n=\"1\"[^>]*>(.*?)</message>", re.DOTALL)


def reply(messages: list[Json]) -> str:
    """Make a note of the first message that is to be looked through, in full; else say "Noted."."""
    if not str(messages[0]["content"]).startswith(EXTRACTION[:100]):
        return "Noted."
    said = _FIRST.search(str(messages[-1]["content"]))
    assert said is not None
    quote = unescape(said[1])
    note = {"message": 1, "quote": quote, "text": quote, "kind": "fact", "importance": 0.5}
    note |= dict.fromkeys(("slot", "valid_from", "valid_until"))
    return json.dumps({"notes": [note]}, ensure_ascii=False)
