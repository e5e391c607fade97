"""What lies in the memory that is measured: owners, their records, and vectors at no cost."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from langchain_core.embeddings import Embeddings

from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Episode, Message, Note, Record
from langgraph_memory.store.records import put_op
from langgraph_memory.testing import HashingEmbeddings

DIMENSIONS = 512
START = datetime(2026, 1, 1, tzinfo=UTC)

_STAND_INS = 512
_LARGE_OWNERS = 8
_THREAD_MESSAGES = 20  # messages of one thread
_WHO = """Ana Bruno Chen Dalia Emil Farah Goran Hana Ivo Jun Kofi Lena Marta Nils Olga Priya Quinn
Rosa Sami Tariq""".split()
_DID = """ordered returned repaired reviewed shipped painted measured cancelled roasted planted
translated borrowed sketched deployed tuned photographed rewrote packed inspected""".split()
_HOW = """green wooden broken cheap heavy portable urgent quiet annual bitter Turkish spare custom
northern fragile yellow digital rented waterproof handmade""".split()
_WHAT = """espresso grinder bicycle invoice greenhouse contract keyboard lantern passport recipe
server telescope violin warehouse curtain engine ladder notebook mirror kettle apron battery canoe
dataset elevator fence glossary hammock island journal kiosk label manual nursery orchard parcel
questionnaire rudder scanner thermostat""".split()
_WHERE = """Rosario Uppsala Kyoto Porto Accra Leeds Tbilisi Lima Hanoi Tromso Gdansk Cairo Quito
Riga Sofia Turin Utrecht Varna Windhoek Zagreb""".split()


def sentence(dice: random.Random) -> str:
    """Return some twenty words; each of them is in a few per cent of all sentences."""
    who, other = dice.choice(_WHO), dice.choice(_WHO)
    return (
        f"{who} {dice.choice(_DID)} the {dice.choice(_HOW)} {dice.choice(_WHAT)} in "
        f"{dice.choice(_WHERE)} because {other} had {dice.choice(_DID)} the {dice.choice(_WHAT)} "
        f"number {dice.randrange(10_000)} before"
    )


def questions(count: int) -> list[str]:
    """Return questions that such sentences answer."""
    dice = random.Random(1)
    return [
        f"When was the {dice.choice(_HOW)} {dice.choice(_WHAT)} {dice.choice(_DID)} by "
        f"{dice.choice(_WHO)} in {dice.choice(_WHERE)}?"
        for _ in range(count)
    ]


@dataclass(frozen=True)
class Owners:
    """Users, by how many records they have."""

    by_size: dict[int, list[str]]

    @classmethod
    def of(cls, records: int, users: int | None, sizes: Sequence[int]) -> Owners:
        """Share records among users.

        Args:
            records: All records.
            users: How many ordinary users there are; by default so many that each has
                `sizes[0]` records.
            sizes: Ascending. Of each size but the first there are up to eight users, which
                take no more than a quarter of the records.
        """
        smallest, *larger = sizes
        by_size: dict[int, list[str]] = {}
        for size in reversed(larger):
            if count := min(_LARGE_OWNERS, records // (4 * size)):
                by_size[size] = [f"owner-{size}-{number}" for number in range(count)]
        rest = records - sum(size * len(names) for size, names in by_size.items())
        users = min(max(users or rest // smallest, 1), rest)
        for number in range(users):
            size = rest // users + (number < rest % users)
            by_size.setdefault(size, []).append(f"user-{number}")
        return cls(by_size)

    @property
    def ordinary(self) -> list[str]:
        """The users with the fewest records."""
        return self.by_size[min(self.by_size)]

    @property
    def count(self) -> int:
        """How many users there are."""
        return sum(len(names) for names in self.by_size.values())

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Yield each user with the number of their records."""
        return ((name, size) for size, names in self.by_size.items() for name in names)


def records_of(user: str, count: int) -> Iterator[Record]:
    """Yield a user's records: of twenty, two are notes, one is an episode, the rest messages."""
    dice = random.Random(user)
    owner = Owner("user", user)
    for number in range(count):
        moment = START + timedelta(minutes=7 * number)
        text, id = sentence(dice), f"{user}/{number}"
        if number % 20 in (5, 15):
            yield new_note(user, id, text, moment)
        elif number % 20 == 19:
            yield Episode(id=id, owner=owner, created_at=moment, task=text, approach="node: chat")
        else:
            user_speaks = number % 2 == 0
            yield Message(
                id=id,
                owner=owner,
                created_at=moment,
                text=text,
                speaker=user if user_speaks else "assistant",
                role="user" if user_speaks else "assistant",
                thread_id=f"{user}/{number // _THREAD_MESSAGES}",
                message_id=id,
                position=number,
            )


def new_note(user: str, id: str, text: str, moment: datetime) -> Note:
    """Return a note as it is when it was just said."""
    return Note(
        id=id,
        owner=Owner("user", user),
        text=text,
        author=user,
        created_at=moment,
        updated_at=moment,
        valid_from=moment,
    )


def embedded_text(record: Record) -> str:
    """Return the text of a record that is embedded."""
    op = put_op(record)
    assert op.value is not None
    assert op.index
    return str(op.value[op.index[0]])


class PreparedEmbeddings(Embeddings):
    """An embedder that looks up what it was told beforehand, in microseconds.

    Any other text gets one of a few hundred real vectors, by its checksum: good enough to write,
    and not to be searched for. While `live` is set, the real embedder does the work.
    """

    def __init__(self, name: str) -> None:
        """Take an embedder by its name on the command line."""
        real = (
            UniversalSentenceEncoder() if name == "default" else HashingEmbeddings(dims=DIMENSIONS)
        )
        self.real: Embeddings = real
        self.model = f"prepared {name}"
        self.dimensions = DIMENSIONS
        self.live = False
        self._known: dict[str, list[float]] = {}
        self._passing: dict[str, list[float]] = {}
        dice = random.Random(2)
        texts = [sentence(dice) for _ in range(_STAND_INS)]
        self._stand_ins = self.real.embed_documents(texts)

    def learn(self, texts: Sequence[str]) -> None:
        """Embed texts that will be asked for again and again."""
        self._known |= dict(zip(texts, self.real.embed_documents(list(texts)), strict=True))

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed the texts of one step, and let go of those of the step before."""
        self._passing = dict(zip(texts, self.real.embed_documents(list(texts)), strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""
        if self.live:
            return self.real.embed_documents(texts)
        return [self._look_up(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return self.real.embed_query(text) if self.live else self._look_up(text)

    def _look_up(self, text: str) -> list[float]:
        found = self._passing.get(text) or self._known.get(text)
        if found is None:
            found = self._stand_ins[zlib.crc32(text.encode()) % _STAND_INS]
        return found
