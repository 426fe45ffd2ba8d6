"""`targcn fuse`."""

import os
from pathlib import Path

import pytest

from command_line import call, complaint_of
from small_training import DATA
from targcn import evaluate, fit, load_run, save_run


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
    title, head, *rows, note, kept = answer.stdout.splitlines()
    assert title.startswith("2 runs on world, fused: 90 queries, valid split, context train,")
    assert "time-aware MRR" in head
    assert note == "weights: the best time-aware MRR on 50 of these queries"
    assert kept == f"kept in {out}; evaluate it on test with: targcn evaluate {out}"
    fused = load_run(out)
    for row, folder in zip(rows, [*members, out], strict=True):
        report = evaluate(folder, split="valid", device="cpu")
        assert row.split()[-1] == f"{report.metrics['time-aware']['both']['mrr']:.3f}"
    weights = fused.recipe.settings.weights  # type: ignore[attr-defined]
    assert [row.split()[2] for row in rows[:2]] == [f"{weight:.3g}" for weight in weights.values()]


def test_a_fused_run_is_explained_by_its_members(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "both"
    call("fuse", runs / "distmult", runs / "tcomplex", "--out", out, "--device", "cpu")
    answer = call("explain", out, "e0", "r0", "e7", "1970-01-04")
    assert answer.returncode == 0, answer.stderr
    assert "The member tcomplex gives the probability 0." in answer.stdout


def test_what_is_refused(runs: Path, tmp_path: Path) -> None:
    one, other, seen = runs / "distmult", runs / "tcomplex", runs / "seen"
    (tmp_path / "mine").mkdir()
    out = tmp_path / "out"
    for arguments, sentence in (
        ([one, other, "--out", tmp_path / "mine"], "mine already exists"),
        ([one, "--out", out], "fusing takes two runs or more"),
        (["--out", out], "fusing takes two runs or more"),
        ([one, seen, "--out", out], "the scores of seen, a run of seen, do not stand for prob"),
        ([one, runs / "gone", "--out", out], f"{runs / 'gone'} is not a run"),
        ([one, other], "--out"),
    ):
        assert sentence in complaint_of(call("fuse", *arguments))
    assert os.listdir(tmp_path) == ["mine"]
    assert "a fused model is not trained" in complaint_of(call("train", "--model", "fused"))
