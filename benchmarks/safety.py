"""What is taken out as a secret, or mangled; what is left of the erased and the forgotten.

    python -m benchmarks.safety                # the half that nothing was chosen on
    python -m benchmarks.safety --half a b     # both halves
    python -m benchmarks.safety --kinds        # a line for each kind of text, too
    python -m benchmarks.safety --parts erasure forgetting   # as `safety_erasing` says

Texts with a secret are those of `sets/secrets.jsonl`, harmless ones those of `sets/harmless.jsonl`.
Each line on stdout is a JSON object:

- `cleaned`: the share of texts of which no five characters of the secret are left that stand
  nowhere else in the text; `fixed` are forms that programs write, `sentence` what people say;
- `mangled`: the share of harmless texts that are changed;
- `ms`: milliseconds for all these texts.

Beside this package, if they are installed: detect-secrets with all its plugins, of which each
secret that it finds in a file is taken out, and the detectors of LangChain's `PIIMiddleware` for
cards, e-mail addresses, and addresses of computers. Neither knows sentences.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from tempfile import NamedTemporaryFile
from time import perf_counter
from typing import Any

from benchmarks.labelled import read
from benchmarks.safety_erasing import erasure, forgetting
from langgraph_memory.redaction import redact_secrets

Redact = Callable[[str], str]
Text = Mapping[str, Any]

_LEFT = 5
"""Characters of a secret, one after another, that are too many to be left."""
_MARK = re.compile(r"\[redacted[^\]]*\]", re.IGNORECASE)


def with_secret(record: Text) -> str:
    """Return a text with its secret in it: the set holds it in parts, that no scanner finds."""
    return str(record["text"]).replace("{}", "".join(record["secret"]))


def is_clean(record: Text, redact: Redact) -> bool:
    """Whether nothing is left of a text's secret."""
    secret, around = "".join(record["secret"]), record["text"].replace("{}", "")
    left = _MARK.sub("", redact(with_secret(record)))
    size = min(len(secret), _LEFT)
    parts = (secret[i : i + size] for i in range(len(secret) - size + 1))
    return not any(part in left and part not in around for part in parts)


def contenders() -> Iterator[tuple[str, Redact]]:
    """Yield what is measured: this package, and the others that are installed."""
    yield "langgraph_memory", redact_secrets
    if find_spec("detect_secrets"):
        yield "detect-secrets", _detect_secrets
    if find_spec("langchain"):
        yield "PIIMiddleware", _pii


def scores(redact: Redact, halves: Sequence[str], kinds: bool) -> Iterator[dict[str, Any]]:
    """Yield what one of them does with both sets."""
    secrets = [each for each in read("secrets.jsonl") if each["half"] in halves]
    harmless = [each for each in read("harmless.jsonl") if each["half"] in halves]
    started = perf_counter()
    cleaned = [(each["form"], each["kind"], is_clean(each, redact)) for each in secrets]
    mangled = [(each["kind"], redact(each["text"]) != each["text"]) for each in harmless]
    ms = round(1000 * (perf_counter() - started))
    for form in ("fixed", "sentence"):
        yield {"texts": form, **_share("cleaned", [ok for each, _, ok in cleaned if each == form])}
    yield {"texts": "harmless", **_share("mangled", [bad for _, bad in mangled]), "ms": ms}
    if kinds:
        yield from _by_kind("cleaned", [(kind, ok) for _, kind, ok in cleaned])
        yield from _by_kind("mangled", mangled)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each contender and set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--half", nargs="+", choices=["a", "b"], default=["b"])
    parser.add_argument("--kinds", action="store_true", help="a line for each kind of text, too")
    parser.add_argument("--parts", nargs="+", choices=[*_PARTS], default=[*_PARTS])
    options = parser.parse_args(arguments)
    for part in ("erasure", "forgetting"):
        for line in _PARTS[part]() if part in options.parts else ():
            print(json.dumps(line, ensure_ascii=False), flush=True)
    if "redaction" not in options.parts:
        return
    for name, redact in contenders():
        for line in scores(redact, options.half, options.kinds):
            print(json.dumps({"library": name, "half": "".join(options.half), **line}), flush=True)


_PARTS: Mapping[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "redaction": lambda: iter(()),  # has options of its own
    "erasure": erasure,
    "forgetting": forgetting,
}


def _share(what: str, held: Sequence[bool]) -> dict[str, Any]:
    return {"count": len(held), what: round(sum(held) / max(1, len(held)), 4)}


def _by_kind(what: str, held: Sequence[tuple[str, bool]]) -> Iterator[dict[str, Any]]:
    kinds = defaultdict(list)
    for kind, each in held:
        kinds[kind].append(each)
    return ({"kind": kind, **_share(what, each)} for kind, each in kinds.items())


def _detect_secrets(text: str) -> str:
    collection = import_module("detect_secrets").SecretsCollection()
    with NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        with import_module("detect_secrets.settings").default_settings():
            collection.scan_file(file.name)  # one line by itself is searched less carefully
    found = {secret.secret_value for _, secret in collection}
    for secret in sorted(filter(None, found), key=len, reverse=True):
        text = text.replace(secret, "[redacted]")
    return text


def _pii(text: str) -> str:
    from langchain.agents.middleware._redaction import BUILTIN_DETECTORS

    for kind in ("credit_card", "email", "ip"):
        for match in reversed(BUILTIN_DETECTORS[kind](text)):
            text = f"{text[: match['start']]}[redacted]{text[match['end'] :]}"
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
