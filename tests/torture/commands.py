"""The commands that write, and what each leaves that is the same in every run of it."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from small_results import find_small_experiment
from small_training import DATA
from targcn.experiments import execute
from targcn.experiments.cells import read_results
from targcn.experiments.execute import UNFINISHED
from targcn.facts.dataset import Dataset
from targcn.files import DRAFT, parse_json
from targcn.recipes.recipe import find_recipe
from targcn.runs.store import is_unfinished, load_run
from torture.material import LEARNERS, QUESTION, RUNS

# Contents by name.
Contents = dict[str, bytes]


@dataclass(frozen=True)
class Command:
    """A command that writes `out`: a file, a folder that it makes, or a folder of several files."""

    words: list[str]
    out: str
    # What every run of it leaves alike, to the byte.
    kept: Callable[[Path], Contents]
    # What it runs as where `out` is there already; without such words that is removed before.
    again: list[str] | None = None
    # What must be so however it ends; without one, all that is there must be as it is in the end.
    check: Callable[[Path], None] | None = None
    # What must never be lost again once it is there.
    settled: Callable[[Path], Contents] = lambda out: {}

    def arguments(self, base: Path, out: Path) -> list[str]:
        """The words to run it with; what it would not write over is removed."""
        words = self.words
        if out.exists() and self.again is not None:
            words = self.again
        elif out.exists():
            self.remove(out)
        return [word.format(base=base, out=out) for word in words]

    def remove(self, out: Path) -> None:
        """Remove what was written, but not drafts, which the command itself has to remove."""
        if out.is_file():
            out.unlink()
        elif self.out == "files":
            for path in out.iterdir():
                if not path.name.endswith(DRAFT):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        else:
            shutil.rmtree(out)

    def problem(self, base: Path, out: Path, whole: Contents) -> str | None:
        """What is wrong with what is there, however the command ended."""
        if not out.exists():
            return None
        if self.check is not None:
            self.check(out)
            return None
        for name, content in self.kept(out).items():
            if whole.get(name) != content:
                return f"{name or out.name} is not whole"
        return None


def _files(out: Path) -> Contents:
    if out.is_file():
        return {"": out.read_bytes()}
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and DRAFT not in str(path)
    }


def _arrays(out: Path) -> Contents:
    return {name: content for name, content in _files(out).items() if name.endswith(".npy")}


def _weights(out: Path) -> Contents:
    return {"": (out / "weights.safetensors").read_bytes()}


def _member_weights(out: Path) -> Contents:
    return _weights(out / "members" / "tntcomplex")


def _untimed(out: Path) -> Contents:
    """Files of JSON without what depends on how fast the machine is, others as they are."""
    return {
        name: json.dumps(_without_times(parse_json(content.decode()))).encode()
        if name.endswith(".json") or (not name and out.suffix == ".json")
        else content
        for name, content in _files(out).items()
    }


TIMED = {"seconds", "seconds_per_epoch", "queries per second", "commit", "load"}


def _without_times(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_times(one) for key, one in content.items() if key not in TIMED}
    return [_without_times(one) for one in content] if isinstance(content, list) else content


def _results(out: Path) -> Contents:
    return {name: one for name, one in _untimed(out).items() if not name.startswith(UNFINISHED)}


def _check_results(out: Path) -> None:
    read_results(out)


def _check_run(out: Path) -> None:
    load_run(out)
    is_unfinished(out)


def _check_data(out: Path) -> None:
    Dataset.load(out)


def _trials(out: Path) -> Contents:
    """The trials of a search that came to an end, and their MRR."""
    if not (out / "study.db").exists():
        return {}
    with closing(sqlite3.connect(out / "study.db")) as study:
        rows = study.execute(
            "SELECT number, value FROM trials JOIN trial_values USING (trial_id) "
            "WHERE state = 'COMPLETE'"
        ).fetchall()
    return {str(number): str(value).encode() for number, value in rows}


def _check_search(out: Path) -> None:
    _trials(out)
    for path in out.glob("run-*"):
        load_run(path)
    if (out / "best.toml").exists():
        find_recipe(None, str(out / "best.toml"), "world")


def _search(out: Path) -> Contents:
    """Nothing to compare, as a trial may have been tried twice; but the best recipe and run."""
    about = f"MRR {max(map(float, _trials(out).values())):.4f} on valid"
    said = (out / "best.toml").read_text()
    runs = [path.name for path in out.glob("run-*")]
    if about not in said or len(runs) != 1:
        raise AssertionError(f"{about!r}, but {said!r} and {runs}")
    return {}


def _train(name: str) -> Command:
    flags = [f"--{key}={value}" for key, value in RUNS[name].items()]
    words = ["train", "{base}/data", f"--model={name}", "--out={out}", "--validate-every=1"]
    # One of them learns what is true too, which takes longer than the training.
    words.append(gaps := "--gaps=facts" if name == "evidence" else "--gaps=none")
    again = ["train", "--resume={out}", "--device=cpu", gaps]
    return Command([*words, *flags], "run", _weights, again, _check_run)


def _several(*words: str, kept: Callable[[Path], Contents] = _files) -> Command:
    return Command(list(words), "files", kept)


def use_small_experiment() -> None:
    """From now on, have an experiment that takes no longer than the other commands."""
    monkeypatch = pytest.MonkeyPatch()
    find_small_experiment(monkeypatch)
    monkeypatch.setattr(execute, "open_data", lambda name: replace(DATA, name=name))


REPRODUCE = ["reproduce", "small", "--device=cpu", "--results={out}"]
SEARCH = ["search", "{base}/data", "--models", "decayed-copy", "seen", "--trials=3"]
SEARCH += ["--device=cpu", "--out={out}"]

COMMANDS: dict[str, Command] = {
    **{f"train {name}": _train(name) for name in LEARNERS},
    "data prepare": Command(
        ["data", "prepare", "{base}/data", "--out={out}"], "data", _arrays, check=_check_data
    ),
    "data derive": Command(
        ["data", "derive", "unseen", "{base}/data", "--out={out}"], "data", _files
    ),
    "data export": Command(["data", "export", "{base}/data", "--out={out}"], "facts.csv", _files),
    "data export, a folder": Command(
        ["data", "export", "{base}/data", "--out={out}"], "tables", _files
    ),
    "evaluate": _several(
        *("evaluate", "{base}/tntcomplex", "--device=cpu", "--out={out}/figures.csv"),
        *("--ranks-out={out}/ranks.parquet", "--plot={out}/curve.svg"),
    ),
    "compare": _several(
        *("compare", "{base}/evidence", "{base}/tntcomplex", "--device=cpu", "--resamples=100"),
        "--out={out}/figures.json",
        kept=_untimed,
    ),
    "predict": _several(
        *("predict", "{base}/tntcomplex", *QUESTION[:3], "?"),
        "--out={out}/answers.csv",
    ),
    "predict, a table": _several(
        *("predict", "{base}/evidence", "--queries={base}/questions.csv"),
        "--out={out}/answers.parquet",
    ),
    "explain": _several("explain", "{base}/evidence", *QUESTION, "--plot={out}/reasons.svg"),
    "export, a page": _several(
        *("export", "{base}/evidence", "--out={out}/page.html"),
        f"--question={QUESTION[0]} | {QUESTION[1]} | ? | {QUESTION[3]}",
    ),
    **{
        f"export, {form}": _several(
            *("export", "{base}/tntcomplex", f"--to={form}", "--device=cpu"),
            f"--out={{out}}/run.{form}",
        )
        for form in ("csv", "pykeen")
    },
    "missing": Command(
        ["missing", "{base}/data", "--gaps=facts", "--top=5", "--out={out}"],
        "missing.json",
        _files,
    ),
    "names": Command(["names", "{base}/data", "--out={out}"], "names.csv", _files),
    "rules": Command(["rules", "{base}/evidence", "--out={out}"], "rules.csv", _files),
    "fuse": Command(
        ["fuse", "{base}/evidence", "{base}/tntcomplex", "--device=cpu", "--out={out}"],
        "run",
        _member_weights,
        check=_check_run,
    ),
    "reproduce": Command(REPRODUCE, "results", _untimed, REPRODUCE, _check_results, _results),
    "search": Command(SEARCH, "search", _search, SEARCH, _check_search, _trials),
}
