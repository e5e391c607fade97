"""What is recalled for MemoryBank's people, who talk to an assistant, and ask it later.

    python -m benchmarks.memorybank --data FOLDER                # all of them, in two languages
    python -m benchmarks.memorybank --data FOLDER --read Emily   # her blocks, to be read

The data is not in this repository: `eval_data/` of
https://github.com/zhongwanjun/MemoryBank-SiliconFriend (MIT), its memory files as `en.json` and
`cn.json`, its questions as `questions_en.jsonl` and `questions_cn.jsonl`. Nothing in it says what
answers a question, so that blocks have to be read.

Each day of a person is logged as a thread of its own, at its date, and each question is put to
`recall_node` on the day after the last one. Each line on stdout is a JSON object: of each language,
the share of the questions that are told that `nothing` is known, and the median of the blocks'
`tokens`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.life_agent import Asking
from benchmarks.life_scores import middle, says_nothing
from benchmarks.locomo import embedder_of
from benchmarks.retrieval_scores import Line, mean
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.models.embedder import Embed
from langgraph_memory.testing import ManualClock
from langgraph_memory.text.length import approximate_tokens

LANGUAGES = ("en", "cn")
_NOON = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A person, what they said on which days with its answers, and what they ask later."""

    name: str
    days: dict[datetime, list[BaseMessage]]
    questions: tuple[str, ...]

    @property
    def asking(self) -> datetime:
        """When they ask: the day after the last."""
        return max(self.days) + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model is given with a question."""

    speaker: str
    question: str
    block: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines, or the blocks, that the command line asks for."""
    options = _options(arguments)
    for language in options.language:
        speakers = [
            each for each in read(options.data, language) if options.read in (None, each.name)
        ]
        answered = list(asked(speakers, embedder_of(options.embed)))
        if options.read is None:
            print(json.dumps(line_of(language, answered)), flush=True)
        else:
            print(*(f"# {each.question}\n\n{each.block}\n" for each in answered), sep="\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memorybank",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="the folder of the four files")
    add("--language", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    add("--read", metavar="NAME", help="print the blocks of one person")
    add("--embed", help="'hashing', or a name for LangChain (default: the embedded default)")
    options = parser.parse_args(arguments)
    if not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}")
    return options


def read(folder: Path, language: str) -> Iterator[Speaker]:
    """Read the people of a language."""
    questions: dict[str, list[str]] = {}
    for line in (folder / f"questions_{language}.jsonl").read_text("utf-8").splitlines():
        questions |= json.loads(line) if line.strip() else {}
    told = json.loads((folder / f"{language}.json").read_text("utf-8"))
    for written, person in told.items():
        days = {
            datetime.fromisoformat(day).replace(tzinfo=UTC) + _NOON: list(_messages(said))
            for day, said in person["history"].items()
        }
        name = written.strip()  # some have blanks around them there, and not with the questions
        yield Speaker(name, days, tuple(questions.get(name, ())))


def _messages(said: Sequence[dict[str, str]]) -> Iterator[BaseMessage]:
    for number, turn in enumerate(said):
        yield HumanMessage(turn["query"], id=f"query-{number}")
        yield AIMessage(turn["response"], id=f"response-{number}")


def asked(speakers: Sequence[Speaker], embed: Embed | None) -> Iterator[Answered]:
    """Log what people said, and yield what a model is given with their questions."""
    clock = ManualClock()
    with Memory(ChromaStore.in_memory(embed=embed), clock=clock) as memory:
        asking = Asking(memory)
        for speaker in speakers:
            for day, messages in speaker.days.items():
                memory.log_turn(messages, user=speaker.name, thread_id=f"{day:%Y-%m-%d}", at=day)
            clock.set(speaker.asking)
            for question in speaker.questions:
                yield Answered(speaker.name, question, asking(question, speaker.name).block)


def line_of(language: str, answered: Sequence[Answered]) -> Line:
    """Return what all questions of a language are given."""
    return {
        "name": "memorybank",
        "language": language,
        "people": len({each.speaker for each in answered}),
        "questions": len(answered),
        "nothing": mean(says_nothing(each.block) for each in answered),
        "tokens": middle(approximate_tokens(each.block) for each in answered),
    }


if __name__ == "__main__":
    main()
