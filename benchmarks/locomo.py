"""Which messages a question brings back, of conversations in LoCoMo's format.

    python benchmarks/locomo.py --data locomo10.json                    # beside the peers
    python benchmarks/locomo.py --data locomo10.json --only ours        # in half a minute
    python benchmarks/locomo.py --data locomo10.json --only ours --cross-validate
    python benchmarks/locomo.py --data locomo10.json --embed openai:text-embedding-3-small

The data is not in this repository (`benchmarks/locomo_data.py` says where it is). Each conversation
is logged through `Memory.log_turn`, each question is put to `Memory.recall` without a floor, and
what the annotators named as its evidence is looked for among the messages that come back. No model
is called. What is not installed is left out, and said.

Each line on stdout is a JSON object; tables follow on stderr. `R@10` is the share of a question's
evidence among the first ten messages, `all@10` the share of the questions with all of it there,
`hit@10` with some of it, `MRR` the mean of 1 / rank of the first, each averaged over questions.
`tokens` are those of the first ten messages with their dates and speakers. `lowest` and `highest`
are those of single conversations.

`locomo.block` is about the block as `recall_node` gives it by default, floors and all: which share
of a question's `evidence` stands in it, and of the `answer_words` (content terms of the answer);
which share of the questions is told that `nothing` is known; the median of its `tokens`.

`--cross-validate` chooses the weights of `Ranking` on all conversations but one, and scores the one
that was left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.latency import machine
from benchmarks.locomo_blocks import read_in_blocks
from benchmarks.locomo_contenders import CONTENDERS, Contender, Ours, contenders, kept
from benchmarks.locomo_data import CATEGORIES, Conversation, read
from benchmarks.locomo_weights import cross_validate
from benchmarks.retrieval_scores import (
    DEPTH,
    Answer,
    Line,
    conversations_of,
    curve,
    scores,
    spread,
)
from benchmarks.retrieval_tables import locomo_tables
from langgraph_memory.models.embedder import Embed
from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.text.length import approximate_tokens


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines and tables that the command line asks for."""
    options = _options(arguments)
    conversations = read(options.data, options.captions)
    lines = []
    for line in measure(options, conversations):
        lines.append(line)
        print(json.dumps(line), flush=True)
    print(*locomo_tables(lines), sep="\n\n", file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/locomo.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="a JSON file in LoCoMo's format")
    add("--embed", help="'hashing', or a name for LangChain (default: the embedded default)")
    add(
        "--captions",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether pictures come as image blocks with captions (default: they do)",
    )
    add("--only", nargs="+", choices=CONTENDERS, default=CONTENDERS, help="some contenders only")
    add("--cross-validate", action="store_true", help="choose weights on the other conversations")
    options = parser.parse_args(arguments)
    if not options.data.is_file():
        parser.error(f"--data: there is no file {options.data}")
    return options


def embedder_of(name: str | None) -> Embed | None:
    """Return the embedder that is called so on a command line."""
    return HashingEmbeddings() if name == "hashing" else name


def measure(options: argparse.Namespace, conversations: Sequence[Conversation]) -> Iterator[Line]:
    """Yield all lines."""
    facts = {"embedder": options.embed or "default", "captions": options.captions}
    yield {"name": "machine", **machine()}
    embed = embedder_of(options.embed)
    with tempfile.TemporaryDirectory() as directory:
        for name, opened in contenders(embed, Path(directory)).items():
            if name not in options.only:
                continue
            try:
                with kept(opened, conversations) as contender:
                    answers = list(answered(contender, conversations))
                    for line in lines_of(answers):
                        who = {"library": contender.library, "call": contender.call}
                        yield {**line, "contender": name, **who, **facts}
                    if isinstance(contender, Ours):
                        for line in read_in_blocks(contender, conversations):
                            yield {**line, **facts}
                    if options.cross_validate and isinstance(contender, Ours):
                        for line in cross_validate(contender, conversations):
                            yield {**line, **facts}
            except ImportError as error:
                yield {"name": "missing", "contender": name, "error": str(error)}


def answered(contender: Contender, conversations: Sequence[Conversation]) -> Iterator[Answer]:
    """Yield what is found for each question."""
    for conversation in conversations:
        for question in conversation.questions:
            found = contender.find(question.text, conversation)
            texts = (conversation.dated[id] for id in found[:DEPTH])
            tokens = sum(map(approximate_tokens, texts))
            yield Answer(conversation.id, question.category, question.evidence, found, tokens)


def lines_of(answers: Sequence[Answer]) -> Iterator[Line]:
    """Yield a line about all questions, and one about each category and each conversation."""
    whole = {"category": "all", "conversation": "all"}
    extra = {**spread(answers), "curve": curve(answers)}
    yield {"name": "locomo", **whole, **scores(answers), **extra}
    for number, category in CATEGORIES.items():
        chosen = [answer for answer in answers if answer.category == number]
        yield {"name": "locomo", **whole, "category": category, **scores(chosen), **spread(chosen)}
    for id in conversations_of(answers):
        chosen = [answer for answer in answers if answer.conversation == id]
        yield {"name": "locomo", **whole, "conversation": id, **scores(chosen)}


if __name__ == "__main__":
    main()
