"""Reports what each of the four stores does otherwise than the contract says.

python -m tests.conformance.report            prints the reports
python -m tests.conformance.report --write    and writes their tables into docs/conformance.md
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from langgraph_memory.testing.conformance import (
    Report,
    Rule,
    TestResult,
    all_rules,
    validate_sync,
)
from tests.conformance import stores

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
STORES = [
    stores.in_memory_store,
    stores.sqlite_store,
    stores.postgres_store,
    stores.chroma_store,
]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.report")
    parser.add_argument("--write", action="store_true", help="write the tables into the docs")
    options = parser.parse_args(arguments)
    reports = []
    for registered in STORES:
        reports.append(validate_sync(registered, progress=_dot))
        sys.stdout.write(f"\n\n{reports[-1]}\n")
    if options.write:
        tables = {"rules": rules_table(all_rules()), "stores": "\n".join(_stores(reports))}
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def _dot(result: TestResult) -> None:
    sys.stdout.write({"passed": ".", "failed": "F", "skipped": "s"}[result.status])
    sys.stdout.flush()


def filled(page: str, tables: dict[str, str]) -> str:
    """Return a page with its generated parts replaced."""
    for name, table in tables.items():
        start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        page, found = pattern.subn(lambda _, new=f"{start}{table}\n{end}": new, page)
        assert found == 1, f"{name}: {found} places in the page"
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


def _stores(reports: Iterable[Report]) -> Iterator[str]:
    for report in reports:
        counts = [f"{report.count(s)} {s}" for s in ("passed", "failed", "skipped")]
        yield f"### {report.store}: {', '.join(counts)}\n"
        reasons = {r.reason: r.capability for r in report.results if r.status == "skipped"}
        for reason, capability in reasons.items():
            yield f"Not tested: {capability} ({reason}).\n"
        if report.failures:
            yield "| rule | the smallest example | what came of it |\n|---|---|---|"
            for _, failures in groupby(report.failures, lambda failure: failure.name.split("[")[0]):
                yield from _failures(list(failures))
            yield ""


def _failures(failures: list[TestResult]) -> Iterator[str]:
    """Yield a line for each case; of cases with the same outcome one."""
    seen: set[str] = set()
    for failure in failures:
        if failure.message not in seen:
            seen.add(failure.message)
            calls = "<br>".join(_code(line) for line in failure.example)
            yield f"| `{failure.name}` | {calls} | {_code(failure.message)} |"


def _code(text: str) -> str:
    # Two backticks, since the text may have one; a bar would end the cell.
    return f"`` {_cell(text)} ``" if "`" in text else f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
