"""A comparison says what evaluate says, beside a literal bootstrap, and mixes nothing."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import oracle
import targcn
from oracle import World
from targcn import comparison
from targcn.checkpoint import Run, save_run
from targcn.cli import main
from targcn.comparison import Comparison, Judged, compare, resampled_means
from targcn.errors import InputError
from targcn.evaluation import Judge, evaluate
from targcn.facts.dataset import Dataset, Facts
from targcn.filtering import FILTERS
from targcn.fitting import fit
from targcn.writeup import plot, table, write

FACTS = [(n % 9, n % 2, n * n % 7, n * 5 % 31) for n in range(160)]
WORLD = World(9, 2, FACTS, cuts=(100, 120))
SCALES = (0.5, 3, 300)


def world_runs() -> dict[str, Run]:
    dataset = WORLD.dataset
    copies = {f"copy-{scale}": fit(dataset, "decayed-copy", scale=scale) for scale in SCALES}
    return copies | {"seen": fit(dataset, "seen")}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(world_runs(), device="cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four run folders: three rules, and one that was trained."""
    parent = tmp_path_factory.mktemp("runs")
    for name, run in world_runs().items():
        if name != "copy-3":
            save_run(run, parent / name)
    small = {"size": 8, "epochs": 1, "neighbors": 5, "window": 0}
    fit(WORLD.dataset, "targcn", out=parent / "learned", device="cpu", **small)
    return parent


# --- figures -------------------------------------------------------------------------------


def test_figures_are_those_of_evaluate(found: Comparison) -> None:
    expected = {name: evaluate(run, device="cpu") for name, run in world_runs().items()}
    assert {run.name: run.report for run in found.runs} == expected


@pytest.mark.parametrize("which", FILTERS)
def test_the_chosen_filter_orders_and_subtracts(which: Any) -> None:
    found = compare(world_runs(), filter=which, device="cpu")
    figures = [run.report.metrics[which]["both"]["mrr"] for run in found.ranked]
    assert figures == sorted(figures, reverse=True)
    assert found.reference is found.ranked[0]
    for run in found.ranked:
        assert found.differences[run.name].mrr == pytest.approx(run.mrr(which) - figures[0])


def test_every_choice_of_evaluate_is_passed_on() -> None:
    found = compare(world_runs(), split="valid", context="train", ties="pessimistic", device="cpu")
    run = world_runs()["seen"]
    expected = evaluate(run, split="valid", context="train", ties="pessimistic", device="cpu")
    assert found.runs[-1].report == expected


def test_progress_counts_the_queries_of_all_runs() -> None:
    steps: list[tuple[int, int]] = []
    compare(world_runs(), device="cpu", progress=lambda *step: steps.append(step))
    assert steps == [(80, 320), (160, 320), (240, 320), (320, 320)]


# --- how sure a difference is --------------------------------------------------------------


@pytest.mark.parametrize("most_draws", [1, 100, 10**6])
def test_interval_equals_a_literal_bootstrap(
    monkeypatch: pytest.MonkeyPatch, most_draws: int
) -> None:
    monkeypatch.setattr(comparison, "MOST_DRAWS", most_draws)
    found = compare(world_runs(), to="seen", resamples=150, seed=4, device="cpu")
    draws = np.random.default_rng(4).integers(40, size=(150, 40)).tolist()
    own = found.reference.ranks["time-aware"].tolist()
    for run in found.runs:
        drawn = oracle.resampled_differences(run.ranks["time-aware"].tolist(), own, draws)
        low, high = np.quantile(drawn, [0.025, 0.975])
        difference = found.differences[run.name]
        assert (difference.low, difference.high) == pytest.approx((low, high), abs=1e-12)
        assert difference.zero_inside == (run.name == "seen" or low <= 0 <= high)


def test_interval_of_many_facts_is_the_normal_one() -> None:
    values = np.random.default_rng(1).exponential(size=(2, 3000))
    means = resampled_means(values, 4000, seed=0)
    reach = 1.96 * values.std(axis=1) / 3000**0.5
    for bound, tail in ((-reach, 0.025), (reach, 0.975)):
        found = np.quantile(means, tail, axis=1) - values.mean(axis=1)
        assert found == pytest.approx(bound, rel=0.08)


def test_a_run_and_its_twin_differ_by_nothing() -> None:
    runs = {"one": fit(WORLD.dataset, "seen"), "two": fit(WORLD.dataset, "seen")}
    twins = compare(runs, device="cpu").differences
    for twin in twins.values():
        assert (twin.mrr, twin.low, twin.high, twin.zero_inside) == (0, 0, 0, True)


def test_draws_are_paired_and_a_function_of_the_seed() -> None:
    values = np.random.default_rng(1).normal(size=50)
    both = resampled_means(np.stack([values, values + 0.5]), 200, seed=0)
    assert both[1] - both[0] == pytest.approx(np.full(200, 0.5))
    again, other = (resampled_means(values[None], 200, seed=seed)[0] for seed in (0, 1))
    assert again == pytest.approx(both[0])
    assert other != pytest.approx(both[0])


def test_two_queries_of_a_fact_are_drawn_together() -> None:
    # Where one query of each fact is as much better as the other is worse, no draw can tell.
    judged = compare(world_runs(), device="cpu").runs[:2]
    ranks = torch.tensor([1.0, 2.0]).repeat_interleave(40), torch.tensor([2.0, 1.0])
    mirrored = (ranks[0], ranks[1].repeat_interleave(40))
    runs = [
        replace(run, ranks=dict.fromkeys(FILTERS, of))
        for run, of in zip(judged, mirrored, strict=True)
    ]
    for difference in Comparison(tuple(runs)).differences.values():
        assert (difference.low, difference.high) == (0, 0)


# --- what is refused -----------------------------------------------------------------------


def judged(run: Run, split: Any = "test", context: Any = "train", ties: Any = "mean") -> Judged:
    judge = Judge(run.dataset, split, context, torch.device("cpu"))
    ranks = judge.ranks(run, ties)
    report = judge.sum_up(run, ranks, ties)
    return Judged(f"{split} {context} {ties}", run.dataset, report, ranks, 0, 1.0, "cpu", {})


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"context": "train+valid"}, "with context train, .* with context train\\+valid; judge"),
        ({"split": "valid"}, "with split test, .* with split valid; judge"),
        ({"ties": "optimistic"}, "with ties mean, .* with ties optimistic; judge"),
    ],
)
def test_reports_that_were_not_judged_alike_are_refused(
    other: dict[str, str], sentence: str
) -> None:
    run = world_runs()["seen"]
    with pytest.raises(InputError, match=sentence):
        Comparison((judged(run), judged(run, **other)))


def with_split(dataset: Dataset, split: str, change: Callable[[Any], Any]) -> Dataset:
    splits: Any = dict(dataset.splits)
    splits[split] = Facts.of(*change(splits[split].columns))
    return replace(dataset, splits=splits)


def test_runs_of_different_data_are_refused_by_content() -> None:
    dataset = WORLD.dataset
    moved = World(9, 2, FACTS, cuts=(101, 120)).dataset
    for other, what in (
        (World(10, 2, FACTS, cuts=(100, 120)).dataset, "entities"),
        (World(9, 3, FACTS, cuts=(100, 120)).dataset, "relations"),
        (replace(dataset, timeline=replace(dataset.timeline, start=1)), "times"),
        (with_split(dataset, "test", lambda columns: columns[:, :-1]), "test facts"),
        (moved, "train facts"),
    ):
        sentence = f"one and two stand on different data: their {what} differ"
        with pytest.raises(InputError, match=sentence):
            compare({"one": fit(dataset, "seen"), "two": fit(other, "seen")}, device="cpu")
    one, two = judged(fit(dataset, "seen")), judged(fit(moved, "seen"))
    with pytest.raises(InputError, match="different data: their train facts differ"):
        Comparison((one, replace(two, name="two")))


def test_another_name_and_another_order_are_the_same_data() -> None:
    other = replace(WORLD.dataset, name="other")
    for split in ("train", "test"):
        other = with_split(other, split, lambda columns: columns[:, ::-1])
    found = compare({"one": fit(WORLD.dataset, "seen"), "two": fit(other, "seen")}, device="cpu")
    assert found.differences["two"].low == found.differences["two"].high == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"filter": "timeaware"}, "filter 'timeaware' is unknown; choose one of raw, static"),
        ({"to": "sean"}, "sean is none of the runs compared; choose one of copy-0.5"),
        ({"resamples": 10}, "resamples is 10; at least 100"),
        ({"seed": -1}, "seed is -1; 0 or more"),
        ({"split": "tset"}, "split 'tset' is unknown"),
        ({"ties": "random"}, "ties 'random' is unknown"),
        ({"context": "test"}, "context 'test' is unknown"),
    ],
)
def test_choices_that_are_not_there(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare(world_runs(), device="cpu", **options)


def test_one_run_is_no_comparison(found: Comparison) -> None:
    with pytest.raises(InputError, match="takes two runs or more"):
        compare({"seen": world_runs()["seen"]})
    with pytest.raises(InputError, match="have one name"):
        Comparison((found.runs[0], found.runs[0]))


# --- files ---------------------------------------------------------------------------------


def test_json_holds_everything(found: Comparison, tmp_path: Path) -> None:
    write(found, tmp_path / "all.json")
    content = json.loads((tmp_path / "all.json").read_text())
    assert content == json.loads(json.dumps(found.to_json()))
    assert [content[key] for key in ("dataset", "split", "context", "ties", "filter")] == [
        "world",
        "test",
        "train+valid",
        "mean",
        "time-aware",
    ]
    settings = {"to": found.reference.name, "num_facts": 40, "resamples": 2000, "seed": 0}
    assert content["bootstrap"].items() >= (settings | {"level": 0.95}).items()
    for run, row in zip(found.ranked, content["runs"], strict=True):
        assert row["run"] == run.name
        assert row["metrics"] == run.report.to_json()["metrics"]
        difference = found.differences[run.name]
        assert row["difference"]["interval"] == [difference.low, difference.high]
        assert row["trained"] is None


def test_csv_has_a_column_for_each_filter(found: Comparison, tmp_path: Path) -> None:
    write(found, tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["run"] for row in rows] == [run.name for run in found.ranked]
    for run, row in zip(found.ranked, rows, strict=True):
        assert (row["split"], row["context"], row["ties"]) == ("test", "train+valid", "mean")
        for which in FILTERS:
            for name, value in run.report.metrics[which]["both"].items():
                assert float(row[f"{which} {name}"]) == value
        assert float(row["time-aware mrr difference"]) == found.differences[run.name].mrr
        assert row["num_parameters"] == "0"
        assert row["trained seconds"] == ""


def test_markdown_names_filter_context_and_ties(found: Comparison, tmp_path: Path) -> None:
    write(found, tmp_path / "all.md")
    text = (tmp_path / "all.md").read_text()
    assert text.startswith("4 runs on world, test split: 80 queries, context train+valid, mean")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    heads, rows = table(found)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == [", ".join(filter(None, head)) for head in heads]
    assert cells[1:] == rows
    assert "MRR, raw | MRR, static | MRR, time-aware | Hits@1, time-aware" in text


def test_a_name_cannot_break_the_table(found: Comparison, tmp_path: Path) -> None:
    runs = (replace(found.runs[0], name="a|b,$c"), *found.runs[1:])
    odd = Comparison(runs)
    write(odd, tmp_path / "odd.md")
    assert "a\\|b,$c" in (tmp_path / "odd.md").read_text()
    write(odd, tmp_path / "odd.csv")
    with (tmp_path / "odd.csv").open(newline="") as stream:
        assert "a|b,$c" in [row["run"] for row in csv.DictReader(stream)]


def test_the_reference_is_not_compared_with_itself(found: Comparison) -> None:
    heads, rows = table(found)
    first = heads.index(("difference", "time-aware"))
    assert rows[0][first : first + 3] == ["–"] * 3
    assert rows[-1][first + 2] in ("yes", "no")


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.parametrize(
    "parameters", [(0, 0, 0, 0), (0, 500, 500, 10**7), (0, 10**7, 10**7, 10**7), (0, 0, 0, 500)]
)
@pytest.mark.filterwarnings("error")
def test_plot_writes_a_picture(
    found: Comparison, tmp_path: Path, ending: str, parameters: tuple[int, ...]
) -> None:
    pytest.importorskip("matplotlib")
    runs = [
        replace(run, num_parameters=number, name=f"${run.name}")
        for run, number in zip(found.runs, parameters, strict=True)
    ]
    plot(Comparison(tuple(runs)), tmp_path / f"all.{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
    assert (tmp_path / f"all.{ending}").read_bytes().startswith(start)


# --- the command ---------------------------------------------------------------------------


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as leaving:
        main(["compare", *map(str, arguments)])
    assert leaving.value.code == 0
    return capsys.readouterr().out


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as leaving:
        main(["compare", *map(str, arguments)])
    assert leaving.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_the_command_prints_one_table_and_writes_files(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    runs = sorted(folders.iterdir())
    files = [tmp_path / f"all.{ending}" for ending in ("csv", "json", "md")]
    flags = [flag for path in files for flag in ("--out", path)]
    picture = tmp_path / "deep" / "all.svg"
    printed = run_command(capsys, *runs, "--to", runs[-1], *flags, "--plot", picture)
    lines = printed.splitlines()
    assert len(lines) == 1 + 2 + len(runs) + 1
    assert "context train+valid, mean rank on ties" in lines[0]
    assert "time-aware MRR less that of seen" in lines[-1]
    content = json.loads(files[1].read_text())
    assert [line.split()[0] for line in lines[3:-1]] == [row["run"] for row in content["runs"]]
    learned = next(row for row in content["runs"] if row["run"] == "learned")
    trained = targcn.load_run(folders / "learned").trained
    assert learned["trained"] == {name: trained[name] for name in ("seconds", "device")}
    assert learned["num_parameters"] == targcn.load_run(folders / "learned").num_parameters > 0
    assert f" {learned['trained']['seconds']:,.0f} s, cpu with" in printed
    assert all(path.exists() for path in [*files, picture])


def test_the_command_leaves_alone_what_is_there(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    runs = (folders / "seen", folders / "copy-300")
    for option, name in (("--out", "events.csv"), ("--plot", "mine.png")):
        (tmp_path / name).write_text("precious")
        assert "already exists" in complaint(capsys, *runs, option, tmp_path / name)
        assert (tmp_path / name).read_text() == "precious"


def test_the_command_as_json(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = (folders / "seen", folders / "copy-300")
    flags = ("--json", "--filter", "raw", "--resamples", 100, "--seed", 3)
    content = json.loads(run_command(capsys, *runs, *flags))
    assert content["filter"] == "raw"
    assert (content["bootstrap"]["resamples"], content["bootstrap"]["seed"]) == (100, 3)


def test_folders_of_one_name_are_told_apart_by_their_paths(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "seen", tmp_path / "seen")
    found = compare([folders / "seen", tmp_path / "seen"], device="cpu")
    assert list(found.differences) == [str(folders / "seen"), str(tmp_path / "seen")]


def test_what_the_command_refuses(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen, copy = folders / "seen", folders / "copy-300"
    other, broken, empty = tmp_path / "other", tmp_path / "broken", tmp_path / "empty"
    save_run(fit(World(9, 2, FACTS, cuts=(90, 120)).dataset, "seen"), other)
    shutil.copytree(folders / "learned", broken)
    (broken / "metrics.json").write_text("{")
    empty.mkdir()
    for arguments, sentence in (
        ([seen], "takes two runs or more"),
        ([], "takes two runs or more"),
        ([seen, tmp_path / "gone"], f"there is no run {tmp_path / 'gone'}"),
        ([seen, empty], f"{empty} is not a run"),
        ([seen, folders / "." / "seen"], "is given twice"),
        ([seen, other], f"{seen} and {other} stand on different data: their train facts differ"),
        ([seen, broken], f"{broken / 'metrics.json'} is damaged"),
        ([seen, copy, "--to", other], f"{other} is none of the runs compared"),
        ([seen, copy, "--out", tmp_path / "a.txt"], "a.txt should end in .csv, .json or .md"),
        ([seen, copy, "--plot", tmp_path / "a.gif"], "a.gif should end in .png, .svg or .pdf"),
        ([seen, copy, "--filter", "none"], "none"),
    ):
        assert sentence in complaint(capsys, *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "empty", "other"]


def test_a_file_that_cannot_be_written_takes_no_figures_along(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = folders / "seen"
    out = seen / "run.json" / "a.csv"
    with pytest.raises(SystemExit) as leaving:
        main(["compare", str(seen), str(folders / "copy-300"), "--out", str(out)])
    printed, complained = capsys.readouterr()
    assert leaving.value.code == 2
    assert f"cannot write {out}" in complained
    assert "2 runs on world" in printed


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


def test_without_matplotlib_the_plot_is_refused_before_anything_is_judged(
    folders: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    runs = (folders / "seen", folders / "copy-300")
    assert "pip install 'targcn[plot]'" in complaint(capsys, *runs, "--plot", "all.png")
