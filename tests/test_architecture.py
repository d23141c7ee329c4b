"""How the package hangs together: one direction of imports, owners of libraries, small modules."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from store.samples import publish_records, record

ENGINE = Path(__file__).resolve().parent.parent / "rag-engine"
PACKAGE = ENGINE / "rag_engine"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]
MAX_LINES = 320

MAY_IMPORT = {
    "": set(),
    "errors": set(),
    "corpus": {"errors"},
    "embed": {"errors", "corpus"},
    "store": {"errors", "corpus", "embed"},
    "search": {"errors", "corpus", "embed", "store"},
    "index": {"errors", "corpus", "embed", "store"},
    "evaluate": {"errors", "search"},
    "config": {"errors", "search", "index.request"},
    "serve": {"", "errors", "config", "search", "embed", "store"},
    "cli": {"", "errors", "config", "search", "index", "evaluate", "store", "serve"},
}
"""For each part of the package, the parts (or single modules) that it may build upon."""

OWNERS = {
    "tantivy": {"store/fulltext/schema.py"},
    "lancedb": {"store/vectors/table.py"},
    "pyarrow": {"store/vectors/table.py"},
    "rjieba": {"store/analysis.py"},
    "onnxruntime": {"embed/onnx.py"},
    "sentence_transformers": {"embed/sentence_transformers.py"},
    "tokenizers": {"embed/tokens.py"},
    "huggingface_hub": {"embed/hub.py"},
    "markdown_it": {"corpus/markdown.py"},
    "yaml": {"corpus/front_matter.py"},
    "pathspec": {"corpus/ignore.py"},
    "starlette": {"serve/app.py"},
    "uvicorn": {"serve/process.py"},
}
"""Libraries, and the modules that alone know them."""

NEVER_IN_A_TEXT_SEARCH = (
    "lancedb", "pyarrow", "onnxruntime", "numpy", "tokenizers", "sentence_transformers", "torch",
    "huggingface_hub", "markdown_it", "yaml", "pathspec", "pandas", "rag_engine.index.run",
)  # fmt: skip
"""What mode fts has no use for; importing it would cost up to two seconds a search."""


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a module, without what only type checkers read."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    return tree


@cache
def full_tree_of(path: Path) -> ast.Module:
    """Return the whole syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Yield the names of the modules that nodes import; "from a import b" gives a and a.b."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_import_time(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported: everything outside of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from at_import_time(child)


def part_of(module: str) -> str:
    """Return the part of the package that a module belongs to, "" for the package itself."""
    return module.removeprefix("rag_engine").removeprefix(".").partition(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_imports_point_one_way(path: Path) -> None:
    """Namely cli -> index | search -> store -> embed -> corpus -> errors, type hints included."""
    name = ".".join(path.relative_to(ENGINE).with_suffix("").parts).removesuffix(".__init__")
    part = part_of(name)
    allowed = MAY_IMPORT[part]
    for module in imported(ast.walk(full_tree_of(path))):
        if module.partition(".")[0] != "rag_engine" or module == "rag_engine":
            continue
        other = part_of(module)
        inner = module.removeprefix("rag_engine.")
        known = any(inner == entry or inner.startswith(f"{entry}.") for entry in allowed if entry)
        version = inner == "__version__" and "" in allowed
        assert other == part or known or version, f"{name} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_libraries_are_known_to_their_owners_alone_and_imported_when_needed(path: Path) -> None:
    """Another store or engine then changes one module, and a start costs what it uses."""
    name = path.relative_to(PACKAGE).as_posix()
    for module in imported(ast.walk(tree_of(path))):
        library = module.partition(".")[0]
        assert name in OWNERS.get(library, {name}), f"{name} imports {library}"
    for module in imported(at_import_time(tree_of(path))):
        library = module.partition(".")[0]
        assert library not in OWNERS, f"{name} imports {library} when it is imported"


def test_every_owner_imports_what_it_owns() -> None:
    """Else this list has gone stale and checks nothing."""
    for library, owners in OWNERS.items():
        for owner in owners:
            found = {
                name.partition(".")[0] for name in imported(ast.walk(tree_of(PACKAGE / owner)))
            }
            assert library in found, f"{owner} does not import {library}"


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_only_one_module_prints(path: Path) -> None:
    """Stdout carries the result and nothing else; one place encodes it."""
    if path.relative_to(PACKAGE).as_posix() == "cli/output.py":
        return
    for node in ast.walk(full_tree_of(path)):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        assert called not in ("print", "sys.stdout.write", "sys.stderr.write", "pprint"), path


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_modules_stay_small_and_say_what_they_are(path: Path) -> None:
    """One noun a module; what grows beyond is two things."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    assert ast.get_docstring(full_tree_of(path))


def test_only_the_settings_read_the_environment() -> None:
    """Options come from one place, in one order; the variables of libraries are no options."""
    libraries = {"store/vectors/table.py", *(name for name in NAMES if name.startswith("embed/"))}
    # hands it on to the process that it starts
    libraries.add("serve/launch.py")
    readers = {
        name
        for path, name in zip(MODULES, NAMES, strict=True)
        if any(
            isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv")
            for node in ast.walk(full_tree_of(path))
        )
    }
    assert readers - libraries == {"config.py", "cli/output.py"}


TEXT_SEARCH = """
import runpy, sys
program, *arguments = sys.argv[1:]
sys.argv = [program, *arguments]
sys.path.insert(0, program.rpartition("/")[0])
try:
    runpy.run_path(program, run_name="__main__")
except SystemExit as end:
    code = end.code
print("\\n".join(["", "loaded", str(code), *sys.modules]))
"""


@pytest.mark.parametrize("how", [["--mode", "fts"], ["--preset", "fast"]])
def test_a_text_search_loads_no_heavy_library(tmp_path: Path, how: list[str]) -> None:
    """The fast path is fast because of what it leaves out; one careless import would undo it."""
    folder = tmp_path / "index"
    publish_records(folder, [record(1, "fish")])
    command = [str(ENGINE / "knowledge_search.py"), "fish", *how, "--db-path", str(folder)]
    done = subprocess.run(
        [sys.executable, "-c", TEXT_SEARCH, *command],
        env=dict(os.environ),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    answer, _, rest = done.stdout.partition("\nloaded\n")
    code, *loaded = rest.split("\n")
    assert (code, done.stderr) == ("0", "")
    assert '"total_results": 1' in answer
    assert "tantivy" in loaded
    assert set(loaded) & set(NEVER_IN_A_TEXT_SEARCH) == set()


def test_importing_the_search_command_loads_no_library_at_all() -> None:
    """--help and a usage error need none."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, rag_engine.cli.search; print(*sys.modules)"],
        env={**os.environ, "PYTHONPATH": str(ENGINE)},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert set(done.stdout.split()) & {*OWNERS, *NEVER_IN_A_TEXT_SEARCH} == set()
