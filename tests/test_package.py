"""The package as users get it: a wheel that works without this repository, and its types."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import targcn

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def python(*words: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def built(kind: str, source: Path, out: Path) -> Path:
    done = python("-m", "hatchling", "build", "-t", kind, "-d", out, folder=source)
    assert done.returncode == 0, done.stderr
    (path,) = out.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as an installer would."""
    folder = tmp_path_factory.mktemp("package")
    archive = built("sdist", ROOT, folder / "sdist")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return built("wheel", folder / archive.name.removesuffix(".tar.gz"), folder / "wheel")


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        held = {name for name in packed.namelist() if name.startswith("targcn/")}
    files = (path for path in (SOURCE / "targcn").rglob("*") if path.is_file())
    wanted = {path.relative_to(SOURCE).as_posix() for path in files if path.suffix != ".pyc"}
    assert held == wanted


@pytest.mark.slow
def test_it_works_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(installed)

    def targcn(*words: str) -> str:
        answer = python("-m", "targcn", *words, folder=tmp_path, PYTHONPATH=str(installed))
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    where = "import targcn; print(targcn.__file__)"
    here = python("-c", where, folder=tmp_path, PYTHONPATH=str(installed)).stdout
    assert here.startswith(str(installed))
    assert re.fullmatch(r"targcn \d+\.\d+\.\d+\n", targcn("--version"))
    train = ("train", "congress", "--model", "seen", "--gaps", "none")
    assert "8,318 queries" in targcn(*train, "--out", "run")
    assert "time-aware" in targcn("evaluate", "run")


def test_every_extra_is_taken_by_the_tests() -> None:
    """But for `site`, which is large and builds the documentation alone."""
    extras = PROJECT["optional-dependencies"]
    brought = re.search(r"targcn\[(.*)\]", " ".join(extras["dev"]))
    assert brought is not None
    assert set(brought[1].split(",")) == {*extras} - {"dev", "site"}


def test_the_program_of_a_user_has_every_public_name() -> None:
    text = (ROOT / "tests" / "user_program.py").read_text(encoding="utf-8")
    assert {name for name in targcn.__all__ if f"targcn.{name}" not in text} == set()


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_program_of_a_user_is_checked_with_our_types(checker: str, tmp_path: Path) -> None:
    """Where pyright is not installed, `make package` checks it alone."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(checker, path=path) is None:
        pytest.skip(f"{checker} is not installed")
    script = ROOT / "scripts" / "check_types.py"
    cache = str(ROOT / ".mypy_cache")
    done = python(script, sys.executable, checker, folder=tmp_path, PATH=path, MYPY_CACHE_DIR=cache)
    assert done.returncode == 0, done.stderr
