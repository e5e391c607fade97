"""Two made-up conversations in LoCoMo's format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Turn = dict[str, Any]


def turn(id: str, speaker: str, text: str, caption: str | None = None) -> Turn:
    picture = {"img_url": ["https://example.org/1.jpg"], "query": "annotation"}
    return {
        "dia_id": id,
        "speaker": speaker,
        "text": text,
        **({**picture, "blip_caption": caption} if caption else {}),
    }


def asked(question: str, category: int, *evidence: str) -> dict[str, Any]:
    return {"question": question, "category": category, "evidence": list(evidence)}


SAMPLES: list[dict[str, Any]] = [
    {
        "sample_id": "boat",
        "conversation": {
            "speaker_a": "Ilka",
            "speaker_b": "Benedikt",
            "session_1_date_time": "9:05 am on 3 March, 2024",
            "session_1": [
                turn("D1:1", "Ilka", "We finally launched the wooden dinghy on the lake."),
                turn("D1:2", "Benedikt", "Who painted the hull?", "a green boat on a trailer"),
                turn("D1:3", "Ilka", "My uncle Ferdinand did, twice."),
            ],
            "session_2_date_time": "7:30 pm on 11 April, 2024",
            "session_2": [
                turn("D2:1", "Benedikt", "I adopted a tortoise named Pumpernickel last week."),
                turn("D2:2", "Ilka", "Does it eat dandelions?"),
            ],
            "session_3_date_time": "7:30 pm on 12 April, 2024",
            "session_3": [],
        },
        "qa": [
            asked("Who painted the hull of the dinghy?", 1, "D1:1; D1:3"),
            asked("When did Benedikt adopt a tortoise?", 2, "D:2:01"),
            asked("Which instrument does Ilka play?", 4, "D9:9"),
            asked("Which goat did Bene adopt?", 5, "D2:1"),
        ],
        "observation": {
            "session_1_observation": {"Ilka": [["Ilka launched a wooden dinghy.", "D1:1"]]},
            "session_2_observation": {
                "Benedikt": [["Benedikt adopted a tortoise.", ["D2:1", "D2:2"]]]
            },
        },
    },
    {
        "sample_id": "bread",
        "conversation": {
            "speaker_a": "Oda",
            "speaker_b": "Ruben",
            "session_1_date_time": "1:00 pm on 20 June, 2024",
            "session_1": [
                turn("D1:1", "Oda", "The rye sourdough rose for nineteen hours."),
                turn("D1:2", "Ruben", "I burnt my thumb on the oven door."),
                turn("D1:3", "Oda", "Put aloe on it, the plant by the window helps."),
            ],
        },
        "qa": [
            asked("How long did the sourdough rise?", 4, "D1:1"),
            asked("What did Ruben burn?", 4, "D1:2") | {"answer": "His thumb, with aloe"},
        ],
        "observation": {
            "session_1_observation": {"Ruben": [["Ruben burnt a thumb on the oven.", "D1:2"]]}
        },
    },
]


def write(folder: Path, samples: Any = SAMPLES) -> Path:
    """Write conversations as LoCoMo's file, and return where."""
    path = folder / "conversations.json"
    path.write_text(json.dumps(samples), encoding="utf-8")
    return path
