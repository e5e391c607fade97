"""What the examples share: their options, a model or its stand-in, and a process for each step."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from langchain_core.language_models import BaseChatModel


def options(
    doc: str | None,
    folder: str,
    *,
    languages: Iterable[str] = (),
    steps: Iterable[str] = (),
    model: bool = True,
) -> argparse.Namespace:
    """Return what the command line says: `path`, and what else the example has.

    Args:
        doc: The example's docstring; its first paragraph is the help.
        folder: Its folder in `demo-memory`. Each language and model has one of its own in there.
        languages: Those of `lang`, the default first.
        steps: Those of `step`, which runs one of them in this process.
        model: Whether a chat model can be named.
    """
    languages, steps = list(languages), list(steps)
    parser = argparse.ArgumentParser(description=str(doc).split("\n\n")[0])
    parser.add_argument("--path", type=Path, default=Path("demo-memory", folder))
    if languages:
        parser.add_argument("--lang", choices=languages, default=languages[0])
    if model:
        parser.add_argument("--model", help="such as openai:gpt-4o-mini; default: a stand-in")
    if steps:
        parser.add_argument("--step", choices=steps, help="one step, in this process")
    given = parser.parse_args()
    named = re.sub(r"\W+", "-", given.model or "stand-in") if model else ""
    given.path = given.path.joinpath(*([given.lang] if languages else []), named)
    return given


def run_each(steps: Iterable[str]) -> None:
    """Run steps of this example one after the other, each in a process of its own."""
    for step in steps:
        command = [sys.executable, *sys.orig_argv[1:], "--step", step]
        if failed := subprocess.run(command, check=False).returncode:
            sys.exit(failed)


def chat_model(name: str | None, stand_in: BaseChatModel) -> BaseChatModel:
    """Return the model of a name, or what stands in for one."""
    if name is None:
        return stand_in
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name)
    return model
