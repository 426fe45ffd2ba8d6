"""`targcn search`."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import optuna
import pytest

from command_line import CSV, call, complaint_of

FLOORS = ("--models", "seen", "decayed-copy")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "meetings.csv").write_text(CSV)
    return tmp_path / "meetings.csv"


def test_a_search_ends_with_a_table_a_recipe_a_run_and_a_plot(source: Path) -> None:
    out = source.parent / "found"
    answer = call("search", source, "--out", out, "--trials", 6, *FLOORS)
    assert answer.returncode == 0, answer.stderr
    assert "search on meetings: 6 trials, 0 stopped early; valid split" in answer.stdout
    assert "the best one on test, which nothing was chosen on:" in answer.stdout
    assert "what mattered: " in answer.stdout
    assert "targcn: trial 0, seen: MRR 0." in answer.stderr
    assert (out / "importances.svg").exists()
    [last] = answer.stdout.splitlines()[-1:]
    assert last.endswith(f"targcn train {source} --recipe {out / 'best.toml'}")
    trained = call("train", source, "--recipe", out / "best.toml", "--out", out / "again")
    assert trained.returncode == 0, trained.stderr
    best = last.removeprefix("kept in ").partition(";")[0]
    evaluated = [call("evaluate", run, "--json").stdout for run in (out / "again", best)]
    assert evaluated[0] == evaluated[1]


def test_without_matplotlib_there_is_no_plot(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = source.parent / "found"
    answer = call("search", source, "--out", out, "--trials", 6, *FLOORS)
    assert answer.returncode == 0, answer.stderr
    assert "pip install 'targcn[plot]'" in answer.stderr
    assert not (out / "importances.svg").exists()


def test_without_optuna_it_says_what_to_install(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    complaint = complaint_of(call("search", source, "--out", source.parent / "found"))
    assert complaint == "targcn: a search needs Optuna: pip install 'targcn[search]'\n"


def test_help_says_how_it_ends() -> None:
    answer = call("search", "--help")
    for option in ("--minutes", "--trials", "--filter", "--models", "--out"):
        assert option in answer.stdout


def test_a_search_can_be_stopped(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("targcn.search.search.try_recipe", interrupt)
    answer = call("search", source, "--out", source.parent / "found", *FLOORS)
    assert answer.returncode == 130
    assert answer.stderr == "targcn: stopped; the same command goes on from here\n"


@pytest.mark.slow
def test_two_processes_share_a_search(source: Path) -> None:
    out = source.parent / "found"
    words = [sys.executable, "-m", "targcn", "search", source, "--out", out, "--trials", 4, *FLOORS]
    both = [
        subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        _, problems = process.communicate(timeout=1200)
        assert process.returncode == 0, problems.decode()
    storage = optuna.storages.RDBStorage(f"sqlite:///{out / 'study.db'}")
    trials = optuna.load_study(study_name="targcn", storage=storage).trials
    storage.remove_session()
    storage.engine.dispose()
    assert Counter(trial.state.name for trial in trials) == {"COMPLETE": 8}
    starts = [trial.params["model"] for trial in trials if "is start" in trial.user_attrs]
    assert starts == ["seen", "decayed-copy"]
    assert len(list(out.glob("run-*"))) == 2
