"""Reports what each store does otherwise than the contract says.

python -m tests.conformance.report            prints the reports
python -m tests.conformance.report --write    and writes their tables into conformance/README.md
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from langgraph_store_conformance import (
    Capability,
    RegisteredStore,
    Report,
    Rule,
    TestResult,
    all_rules,
    validate_sync,
)
from tests.conformance import stores

PAGE = Path(__file__).parents[2] / "conformance" / "README.md"
STATUSES: tuple[Literal["passed", "failed", "skipped"], ...] = ("passed", "failed", "skipped")
STORES: dict[RegisteredStore, list[Capability] | None] = {
    stores.in_memory_store: None,
    stores.sqlite_store: None,
    stores.postgres_store: None,
    stores.chroma_store: None,
    stores.chroma_server_store: None,
    # The classes for async callers alone share their SQL with the others.
    stores.async_sqlite_store: [Capability.ASYNC],
    stores.async_postgres_store: [Capability.ASYNC],
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.report")
    parser.add_argument("--write", action="store_true", help="write the tables into the page")
    options = parser.parse_args(arguments)
    reports = []
    for registered, capabilities in STORES.items():
        reports.append(validate_sync(registered, capabilities=capabilities, progress=_dot))
        sys.stdout.write(f"\n\n{reports[-1]}\n")
    if options.write:
        tables = {
            "rules": rules_table(all_rules()),
            "summary": summary_table(reports),
            "stores": store_tables(reports),
        }
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def _dot(result: TestResult) -> None:
    sys.stdout.write({"passed": ".", "failed": "F", "skipped": "s"}[result.status])
    sys.stdout.flush()


def filled(page: str, tables: dict[str, str]) -> str:
    """Return a page with its generated parts replaced."""
    for name, table in tables.items():
        start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        before, *rest = pattern.split(page)
        assert len(rest) == 1, f"{name}: {len(rest)} places in the page"
        page = f"{before}{start}{table}\n{end}{rest[0]}"
    return page


def rules_table(rules: Iterable[Rule]) -> str:
    """Return the contract: a line for each rule, with the number of its cases."""
    lines = ["| rule | what it says | tests |", "|---|---|---|"]
    for capability, of_capability in groupby(rules, lambda rule: rule.capability):
        lines.append(f"| **{capability}** | | |")
        for name, cases in groupby(of_capability, lambda rule: rule.group):
            first, *others = cases
            lines.append(f"| `{name}` | {_cell(first.text)} | {1 + len(others)} |")
    return "\n".join(lines)


def summary_table(reports: Sequence[Report]) -> str:
    """Return how many tests of each capability each store fails."""
    lines = [
        f"| failed, of the tests | {' | '.join(report.store for report in reports)} |",
        "|---" * (1 + len(reports)) + "|",
    ]
    for capability in Capability:
        cells = []
        for report in reports:
            passed, failed, _ = (report.count(s, capability) for s in STATUSES)
            cells.append(f"{failed} of {passed + failed}" if passed + failed else "-")
        lines.append(f"| {capability} | {' | '.join(cells)} |")
    return "\n".join(lines)


def store_tables(reports: Iterable[Report]) -> str:
    """Return what each store fails, with the smallest example."""
    return "\n".join(line for report in reports for line in _store(report))


def _store(report: Report) -> Iterator[str]:
    counts = [f"{report.count(status)} {status}" for status in STATUSES]
    yield f"### {report.store}: {', '.join(counts)}\n"
    skipped = Counter((r.capability, r.reason) for r in report.results if r.status == "skipped")
    for (capability, reason), count in skipped.items():
        yield f"Not tested: {count} of {capability} ({reason}).\n"
    if report.failures:
        yield "| rule | the smallest example | what came of it |\n|---|---|---|"
    for failure in report.failures:
        calls = "<br>".join(_code(line) for line in failure.example)
        yield f"| `{failure.name}` | {calls} | {_code(failure.message)} |"
    yield ""


def _code(text: str) -> str:
    # Two backticks, since the text may have one; a bar would end the cell.
    return f"`` {_cell(text)} ``" if "`" in text else f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
