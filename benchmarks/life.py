"""A month with an agent: does the model read what it needs, on the thirtieth day as on the first?

    python -m benchmarks.life                         # four languages, a quarter of an hour
    python -m benchmarks.life --language en zh --half a --only ours
    python -m benchmarks.life --language en --model openai:gpt-4o-mini

A person tells an agent twelve facts on the first three days, each once, and asks for them on the
thirty days that follow, five times a day, in four wordings, among orders, small talk and whatever
else they say (benchmarks/sets/README_life.md). Half of the answers say the fact again. All of it
goes through a graph with `recall_node` and `remember_node`, a `ChromaStore` on disk and a clock
that moves; each question is a thread of its own. No model is called: what it would be given is
looked at.

Modes: with `messages` alone, nobody keeps notes; with `notes` alone (`recall_node`; nothing is
logged) each fact is a note among others; with `both`, they are said and noted. Where a language's
own notes are not enough, those of other labelled sets follow; `notes` says how many there are.

Each line on stdout is a JSON object, tables follow on stderr:

- `life`: by ten days, the share of the questions whose block has the fact (`held`: as it was said
  or noted, in one line; `told`: that, or an answer that said it again), in which line (`place`),
  how many are told that nothing is known (`refused`), and how long blocks are (`tokens`). Peers
  fill as many tokens as our block had for the question, and a `budget` of 1,000;
- `life.other`: the share of everyday questions about other subjects, asked on the last day, that
  are told that `nothing` is known; the tokens of blocks for a greeting and for other subjects;
- `life.answers`, with `--model`: how many answers of that model are right, wrong and "I do not
  know", as it judges itself, and which wrong ones came from what is uncertain.

Half `a` of the facts is to choose with, `b` to report on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.labelled import table
from benchmarks.latency import machine
from benchmarks.life_agent import USER, Agent, CachedEncoder
from benchmarks.life_answers import answers
from benchmarks.life_month import ASKED, LANGUAGES, Person, Turn, month, person
from benchmarks.life_peers import PEERS, cut, peer
from benchmarks.life_scores import Asked, asked, other_figures, spans
from benchmarks.locomo import embedder_of
from benchmarks.locomo_peers import SameEmbeddings
from benchmarks.retrieval_scores import Line
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.models.embedder import Embed
from langgraph_memory.testing import ManualClock
from langgraph_memory.text.length import approximate_tokens

OURS = "ours"
MESSAGES, NOTES, BOTH = MODES = ("messages", "notes", "both")
BUDGET = 1_000
"""Tokens of a whole block."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a month is like."""

    mode: str
    crowd: int
    notes: tuple[str, ...] = ()
    """About other things."""

    @property
    def said(self) -> bool:
        """Whether the facts are said, and what is said is kept."""
        return self.mode != NOTES

    @property
    def noted(self) -> bool:
        """Whether the facts are noted."""
        return self.mode != MESSAGES


@dataclass(frozen=True, slots=True)
class Lived:
    """What the model was given in a month."""

    turns: Sequence[tuple[Turn, str]]
    """Each with its block."""
    offtopic: Sequence[str]
    """The blocks of questions about other subjects, on the last day."""

    @property
    def asked(self) -> list[Asked]:
        """The questions about facts."""
        return [
            asked(turn.day, turn.fact, turn.text, block)
            for turn, block in self.turns
            if turn.kind == ASKED and turn.fact
        ]

    @property
    def other(self) -> Line:
        """What all else is given."""
        crowd = [(turn.kind, block) for turn, block in self.turns if not turn.fact]
        return other_figures(self.offtopic, crowd)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines and tables that the command line asks for."""
    options = _options(arguments)
    lines = []
    for line in measure(options):
        lines.append(line)
        print(json.dumps(line), flush=True)
    print(*tables(lines), sep="\n\n", file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.life",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--language", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    add("--half", nargs="+", choices=["a", "b"], default=["a", "b"], help="of the facts")
    add("--mode", nargs="+", choices=MODES, default=MODES)
    add("--crowd", nargs="+", type=int, default=[60, 300], help="turns beside the facts")
    add("--notes", nargs="+", type=int, default=[40, 150, 500], help="all notes together")
    add("--only", nargs="+", choices=[OURS, *PEERS], default=[OURS, *PEERS])
    add("--embed", help="'hashing', or a name for LangChain (default: the embedded default)")
    add("--model", help="a name of init_chat_model, to answer from the blocks")
    add("--answers", type=int, default=48, help="questions a month for the model (default: 48)")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> Iterator[Line]:
    """Yield all lines."""
    yield {"name": "machine", **machine()}
    embed = CachedEncoder() if options.embed is None else embedder_of(options.embed)
    same = SameEmbeddings(embed)
    model = init_chat_model(options.model) if options.model else None
    for language in options.language:
        for half in options.half:
            who = person(language, half)
            facts = {"language": language, "half": half, "embedder": options.embed or "default"}
            for setting in settings(who, options):
                for line in _of_month(who, setting, embed, same, model, options):
                    yield {**line, **facts}


def settings(who: Person, options: argparse.Namespace) -> Iterator[Setting]:
    """Yield the months that are asked for; a language with few notes has fewer of them."""
    if MESSAGES in options.mode:
        yield from (Setting(MESSAGES, crowd) for crowd in sorted(set(options.crowd)))
    kept = {min(notes, len(who.facts) + len(who.notes)) for notes in options.notes}
    for notes in sorted(kept):
        others = tuple(who.notes[: max(0, notes - len(who.facts))])
        if NOTES in options.mode:
            yield Setting(NOTES, min(options.crowd), others)
        if BOTH in options.mode:
            yield Setting(BOTH, max(options.crowd), others)


def _of_month(
    who: Person,
    setting: Setting,
    embed: Embed | None,
    same: SameEmbeddings,
    model: BaseChatModel | None,
    options: argparse.Namespace,
) -> Iterator[Line]:
    notes = len(setting.notes) + len(who.facts) if setting.noted else 0
    facts = {"mode": setting.mode, "crowd": setting.crowd, "notes": notes}
    lived = live(who, setting, embed)
    for line in spans(lived.asked):
        yield {"name": "life", "contender": OURS, "budget": BUDGET, **line, **facts}
    yield {"name": "life.other", **lived.other, **facts}
    if model is not None:
        chosen = lived.asked[:: max(1, len(lived.asked) // options.answers)]
        yield {"name": "life.answers", **answers(model, chosen), "model": options.model, **facts}
    for name in PEERS:
        if name not in options.only:
            continue
        try:
            for budget, found in beside(who, setting, lived, name, same).items():
                for line in spans(found):
                    yield {"name": "life", "contender": name, "budget": budget, **line, **facts}
        except ImportError as error:
            yield {"name": "missing", "contender": name, "error": str(error)}


def live(who: Person, setting: Setting, embed: Embed | None) -> Lived:
    """Let a person live a month with an agent."""
    turns = month(who, setting.crowd, setting.said)
    clock = ManualClock(turns[0].at)
    with (
        tempfile.TemporaryDirectory() as directory,
        Memory(ChromaStore(directory, embed=embed), clock=clock) as memory,
    ):
        for text, kind in _noted(who, setting):
            memory.remember(text, user=USER, kind=kind)
        agent = Agent(memory, clock)
        given = [
            (turn, agent.say(turn) if setting.said else agent.ask(turn.text, turn.at))
            for turn in turns
        ]
        evening = turns[-1].at + timedelta(hours=1)
        return Lived(given, [agent.ask(text, evening) for text in who.offtopic])


def _noted(who: Person, setting: Setting) -> list[tuple[str, Any]]:
    """Return the notes and their kinds, those of the facts anywhere among the others."""
    if not setting.noted:
        return []
    notes = [*((fact.note, fact.kind) for fact in who.facts), *((n, "fact") for n in setting.notes)]
    Random(len(notes)).shuffle(notes)
    return notes


def beside(
    who: Person, setting: Setting, lived: Lived, name: str, same: SameEmbeddings
) -> dict[str | int, list[Asked]]:
    """Let a peer live the same month; return what it finds for the questions, by budgets."""
    found: dict[str | int, list[Asked]] = {"equal": [], BUDGET: []}
    with (
        tempfile.TemporaryDirectory() as directory,
        closing(peer(name, Path(directory), same)) as kept,
    ):
        new = [text for text, _ in _noted(who, setting)]
        for turn, block in lived.turns:
            if turn.kind == ASKED and turn.fact:
                kept.keep(new)
                new = []
                texts = kept.find(turn.text)
                for budget, tokens in (("equal", approximate_tokens(block)), (BUDGET, BUDGET)):
                    shown = cut(texts, tokens)
                    found[budget].append(asked(turn.day, turn.fact, turn.text, shown))
            if setting.said:
                new += [f"user: {turn.text}", f"assistant: {turn.answer}"]
    return found


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """Yield tables of the lines: what the blocks hold, and what they say of other subjects."""
    columns = ("language", "half", "mode", "crowd", "notes", "contender", "budget", "days")
    figures = ["held", "told", "place", "perhaps", "refused", "tokens"]
    yield _table([*columns, *figures], [line for line in lines if line["name"] == "life"])
    others = [line for line in lines if line["name"] == "life.other"]
    figures = ["nothing", "offtopic_tokens", "greeting_tokens", "other_tokens"]
    yield _table([*columns[:5], *figures], others)


def _table(columns: Sequence[str], lines: Sequence[Line]) -> str:
    return table("|".join(columns), ([line[column] for column in columns] for line in lines))


if __name__ == "__main__":
    main()
