"""`targcn compare`: one table of several runs, and files of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import call, complaint_of, output_of
from small_runs import WORLD, world_runs
from small_training import DATA
from targcn import evaluate, fit, load_run, save_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four run folders: three rules, and one that was trained."""
    parent = tmp_path_factory.mktemp("runs")
    for name, run in world_runs().items():
        if name != "copy-3":
            save_run(run, parent / name)
    small = {"dim": 8, "epochs": 1, "neighbors": 5, "window": 0}
    fit(WORLD.dataset, "targcn", out=parent / "learned", device="cpu", **small)
    return parent


def test_the_command_prints_one_table_and_writes_files(folders: Path, tmp_path: Path) -> None:
    runs = sorted(folders.iterdir())
    files = [tmp_path / "deep" / f"all.{ending}" for ending in ("csv", "json", "md")]
    flags = [flag for path in files for flag in ("--out", path)]
    printed = output_of("compare", *runs, "--to", runs[-1], *flags)
    lines = printed.splitlines()
    assert len(lines) == 1 + 2 + len(runs) + 1
    assert "context train+valid, mean rank on ties" in lines[0]
    assert "time-aware MRR minus that of seen" in lines[-1]
    rows = json.loads(files[1].read_text())
    assert [line.split()[0] for line in lines[3:-1]] == [row["run"] for row in rows]
    row = next(row for row in rows if row["run"] == "learned")
    learned = load_run(folders / "learned")
    assert learned.trained is not None
    assert (row["training seconds"], row["training device"]) == (
        learned.trained.seconds,
        learned.trained.device,
    )
    assert row["num_parameters"] == learned.num_parameters > 0
    (line,) = (line for line in lines if line.startswith("learned"))
    assert f" {learned.trained.seconds:,.0f} " in line
    assert " cpu with" in line
    assert all(path.exists() for path in files)


def test_the_command_leaves_alone_what_is_there(folders: Path, tmp_path: Path) -> None:
    runs, events = (folders / "seen", folders / "copy-300"), tmp_path / "events.csv"
    events.write_text("precious")
    assert "already exists" in complaint_of(call("compare", *runs, "--out", events))
    assert events.read_text() == "precious"


def test_what_cannot_be_compared(folders: Path, tmp_path: Path) -> None:
    seen, copy = folders / "seen", folders / "copy-300"
    for arguments, sentence in (
        ([seen, tmp_path / "gone"], f"{tmp_path / 'gone'} is not a run"),
        ([seen, folders / "." / "seen"], "is given twice"),
        ([seen, copy, "--out", tmp_path / "a.txt"], "a.txt should end in .csv, .json or .md"),
        ([seen, copy, "--filter", "none"], "none"),
    ):
        assert sentence in complaint_of(call("compare", *arguments))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_takes_no_figures_along(folders: Path) -> None:
    seen = folders / "seen"
    out = seen / "run.json" / "a.csv"
    answer = call("compare", seen, folders / "copy-300", "--out", out)
    assert answer.returncode == 2
    assert f"cannot write {out}" in answer.stderr
    assert "2 runs on world" in answer.stdout


def test_a_reader_who_leaves_early_does_not_cost_the_file(folders: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    reading, writing = os.pipe()
    os.close(reading)
    runs = [str(folders / "seen"), str(folders / "copy-300")]
    command = [sys.executable, "-m", "targcn", "compare", *runs, "--out", str(out)]
    left = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert "Traceback" not in left.stderr
    assert out.read_text(encoding="utf-8").count("\n") == 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("distmult", "tcomplex"):
        run = fit(DATA, name, epochs=3, dim=4, batch_size=64, learning_rate=0.05, device="cpu")
        save_run(run, folder / name)
    save_run(fit(DATA, "seen"), folder / "seen")
    return folder


def test_the_weights_and_all_figures_are_shown(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "both"
    members = [runs / "distmult", runs / "tcomplex"]
    answer = call("fuse", *members, "--out", out, "--device", "cpu", "--queries", 50)
    assert (answer.returncode, answer.stderr) == (0, "")
    title, _, *rows, shares, _, figures, kept = answer.stdout.splitlines()
    assert title.startswith("fused on world: recipe default, seed 0, ")
    metrics = evaluate(out, split="valid", device="cpu").metrics
    for row, (which, sides) in zip(rows, metrics.items(), strict=True):
        assert row.split()[::2][:2] == [which, f"{sides['both']['mrr']:.3f}"]
    weights = load_run(out).recipe.settings.weights  # type: ignore[attr-defined]
    said = ", ".join(f"{name} × {weight:.3g}" for name, weight in weights.items())
    assert shares == f"members, by their weights: {said}"
    assert figures.startswith("figures: valid split, context train, mean rank on ties")
    assert kept == f"kept in {out}; evaluate it on test with: targcn evaluate {out}"
