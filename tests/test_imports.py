"""Rooms stand in layers and import one way; heavy libraries come when they are needed."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import targcn
from oracle import World
from targcn.models.registry import MODELS
from targcn.training.fit import fit

ROOT = Path(targcn.__file__).parent

# A module imports from the layers above its own in this list, and from its own room.
LAYERS = [
    {"errors"},
    {"config", "files", "memory"},
    {"devices"},
    {"distributed"},
    {"output"},
    {"facts"},
    {"graph"},
    {"models"},
    {"evaluation"},
    {"truth"},
    {"recipes"},
    {"runs"},
    {"training"},
    {"inference"},
    {"search"},
    {"experiments"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
# Where each model is written; none of them knows another.
SYSTEMS = {f"models.{entry.module}" for entry in MODELS.values()}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def room_of(module: str) -> str:
    return module.partition(".")[0]


def layer_of(module: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room_of(module) in rooms)


def imports_of(source: str) -> set[str]:
    """The modules of targcn that a source imports anywhere, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            # `from targcn.facts import open` may name a module or something in one.
            wholes = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {whole for whole in wholes if whole.removeprefix("targcn.") in MODULES}
            found |= modules or {str(node.module)}
    return {name.removeprefix("targcn.") for name in found if name.startswith("targcn.")}


def test_every_room_has_its_layer() -> None:
    assert {room_of(module) for module in MODULES if module} == set().union(*LAYERS)


@pytest.mark.parametrize("page", ["architecture", "models", "targcn", "evidence", "scale"])
def test_the_docs_name_files_that_are_there(page: str) -> None:
    project = ROOT.parents[1]
    text = (project / "docs" / f"{page}.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[`/](\w+\.py)\b", text)) - {"mine.py"}
    there = {
        path.name
        for room in (ROOT, project / "tests", project / "benchmarks")
        for path in room.rglob("*.py")
    }
    assert named <= there | {path.name for path in (project / "scripts").iterdir()}


@pytest.mark.parametrize("module", sorted(filter(None, MODULES)))
def test_imports_go_one_way(module: str) -> None:
    for imported in imports_of(MODULES[module].read_text(encoding="utf-8")):
        same_room = room_of(imported) == room_of(module)
        assert same_room or layer_of(imported) < layer_of(module), imported
        if module in SYSTEMS:
            assert imported not in SYSTEMS - {module}, imported


def test_tests_mirror_the_package() -> None:
    """A test file is named after a module; what several tests share is not named test_."""
    tests = Path(__file__).parent
    others = {
        "test_benchmarks.py",
        "test_imports.py",
        "test_notebooks.py",
        "test_package.py",
        "test_shown_pages.py",
        "test_figures.py",
        "test_site.py",
        "test_torture.py",
        "facts/test_fuzz.py",
        "facts/test_congress.py",
        "cli/test_cli.py",
        "serve/page/test_everywhere.py",
        "serve/page/test_views.py",
    }
    for path in tests.rglob("test_*.py"):
        module = path.relative_to(tests).with_name(path.name.removeprefix("test_"))
        named = str(path.relative_to(tests))
        assert (ROOT / module).exists() or named in others, named


def run_python(code: str, *arguments: object) -> str:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("module", ["targcn", "targcn.cli"])
def test_nothing_heavy_is_imported_early(module: str) -> None:
    heavy = {"torch", "numpy", "polars", "optuna", "fastapi", "uvicorn"}
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert run_python(code) == "[]\n"


@pytest.mark.parametrize("name", targcn.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(targcn, name).__name__ == name


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = targcn.nothing


ON_A_BARE_NODE = """
import sys
for absent in ("polars", "pandas", "cyclopts", "rich"):
    sys.modules[absent] = None
import targcn
dataset = targcn.open_dataset(sys.argv[1])
run = targcn.fit(dataset, "decayed-copy", scale=2)
targcn.save_run(run, sys.argv[2])
for one in (run, targcn.load_run(sys.argv[2])):
    print(targcn.evaluate(one, device="cpu").metrics["static"]["both"]["mrr"])
small = {"epochs": 1, "dim": 4, "device": "cpu"}
members = {name: targcn.fit(dataset, name, **small) for name in ("distmult", "complex")}
fused = targcn.fuse(members, out=sys.argv[2] + "-fused", device="cpu")
assert targcn.load_run(sys.argv[2] + "-fused").recipe == fused.recipe
"""


@pytest.mark.slow
def test_torch_and_numpy_are_enough_for_a_prepared_folder(tmp_path: Path) -> None:
    facts = [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)]
    dataset = World(5, 2, facts, cuts=(20, 25)).dataset
    dataset.save(tmp_path / "data")
    printed = run_python(ON_A_BARE_NODE, tmp_path / "data", tmp_path / "run")
    expected = targcn.evaluate(fit(dataset, "decayed-copy", scale=2), device="cpu")
    mrr = expected.metrics["static"]["both"]["mrr"]
    assert printed.split() == [str(mrr)] * 2
