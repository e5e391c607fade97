"""From which evidence on a memory is taken to know something about a question.

Evidence is what the best record of a type has in common with the question, on a scale on which a
cosine similarity of 1 and all the words of the question are 1 each. Of a message it is similarity,
plus coverage (the share of the question's words that stand in it or around it), plus how close it
is to the moment asked for, plus something if the question names who speaks; of a user's own
question it is little. Of what stands alone it is similarity plus the square of coverage: a
word or two in common are no evidence.

The question is judged, by the best record: of what stands alone, others have to come near to it
(`Ranking.accompanies`), and messages need nothing. What else ranks high is often what stands beside
the answer: judged one by one, messages lost a tenth of what answered the questions of LoCoMo's
development conversations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from langgraph_memory.records import RecordType, check_number


@dataclass(frozen=True, slots=True)
class Floors:
    """The evidence that is asked for, by the type of the records.

    The defaults are for the embedded default embedder. No floor tells all questions that a memory
    answers from all others: lower ones let more of both through.
    """

    message: float = 0.55
    """Of LoCoMo's questions, which mostly name who speaks, .002 stay below; of everyday questions
    about other subjects .87 in English and all in Chinese (`benchmarks/floor.py`)."""
    note: float = 0.17
    """Of questions that avoid the words of their notes less than .03 stay below; of everyday
    questions about other subjects .22 in English and .10 in Chinese, and over LoCoMo's observations
    .53 and .62. What lies below is shown as uncertain, so that a higher floor would say "nothing is
    remembered" beside the line that tells."""
    document: float = 0.3
    """Of 33 questions that pages of docs/ and a handbook answer 3 stay below, and 31 of 33 about
    other subjects."""
    episode: float = 0.2
    """Below it are .02 of the tasks like a logged one, and .64 of the questions about other
    subjects (`benchmarks/episodes.py`)."""

    def __post_init__(self) -> None:
        for each in fields(self):
            check_number(each.name, getattr(self, each.name))

    def of(self, type: RecordType) -> float:
        """Return the floor of a type that can be recalled."""
        floor: float = getattr(self, type)
        return floor


EMBEDDED = Floors()

UNMEASURED = Floors(message=0.5)
"""For embedders that nobody measured. Some put all texts above .7, and then nothing is refused: to
say too often that nothing is known would be worse."""

WITH_E5 = Floors(message=0.58)
"""For `UniversalAndE5`. Of LoCoMo's questions .03 stay below, of those about other conversations
with the names exchanged .62, of everyday questions about other subjects .9 to 1. Of questions that
avoid the words of their notes .03 stay below the floor for notes, and .52 of the everyday ones, in
the Chinese memory .27."""

_FLOORS = {"use-multilingual-v3": EMBEDDED, "use-multilingual-v3+e5-small-q4": WITH_E5}


def floors_of(embedder: str) -> Floors:
    """Return the floors for an embedder, by the name that its `Fingerprint` has."""
    return _FLOORS.get(embedder, UNMEASURED)
