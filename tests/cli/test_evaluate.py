"""`targcn evaluate`."""

import json
from pathlib import Path

import polars as pl

from command_line import call, complaint_of
from oracle import World
from targcn import fit, save_run


def test_evaluate_prints_every_filter_and_names_its_context(run: Path) -> None:
    answer = call("evaluate", run, "--context", "train", "--by-relation")
    assert "8,318 queries, test split, context train, mean rank on ties" in answer.stdout
    for word in ("raw", "static", "time-aware", "object", "subject", "serves beside"):
        assert word in answer.stdout


def test_relations_and_times_are_asked_for(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "times.csv"
    shown = call("evaluate", run, "--ask", "time", "--queries", 20, "--out", out)
    assert shown.stdout.startswith("decayed-copy on congress: 20 queries, test split")
    assert "error, years" in shown.stdout
    assert pl.read_csv(out)["filter"].to_list() == ["raw", "time-aware"]
    report = json.loads(
        call("evaluate", run, "--ask", "relation", "--queries", 20, "--json").stdout
    )
    assert list(report["metrics"]) == ["raw", "static", "time-aware"]
    assert list(report["metrics"]["raw"]) == ["relation"]


def test_a_reliability_plot(run: Path, meetings: Path, tmp_path: Path) -> None:
    trained = tmp_path / "run"
    small = ("--model", "distmult", "--dim", 4, "--epochs", 1, "--device", "cpu")
    assert "expected calibration error" in call("train", meetings, *small, "--out", trained).stdout
    assert "Probabilities: expected calibration error" in (trained / "README.md").read_text()
    shown = call("evaluate", trained, "--plot", tmp_path / "x.svg")
    assert "expected calibration error" in shown.stdout
    assert (tmp_path / "x.svg").exists()
    content = json.loads(call("evaluate", trained, "--json").stdout)["calibration"]
    assert content["num_queries"] == sum(of_bin["num_queries"] for of_bin in content["bins"])
    refused = complaint_of(call("evaluate", run, "--plot", tmp_path / "y.svg"))
    assert "the scores of decayed-copy do not stand for probabilities" in refused
    refused = complaint_of(call("evaluate", run, "--plot", tmp_path / "y.svg", "--ask", "time"))
    assert "--plot shows the probabilities of entities; leave out --ask" in refused


def test_how_intervals_are_asked_is_chosen_and_named(run: Path, tmp_path: Path) -> None:
    facts = [(n % 5, 0, n * n % 5, n, n + n % 3) for n in range(12)]
    lasting = tmp_path / "lasting"
    save_run(fit(World(5, 1, facts, cuts=(6, 8)).dataset, "seen"), lasting)
    for protocol in ("enumerate-time", "identical"):
        shown = call("evaluate", lasting, "--intervals", protocol).stdout
        assert f"intervals {protocol}" in shown
    assert "aeIOU" in call("evaluate", lasting, "--ask", "time").stdout
    sentence = "has no facts with a beginning and an end; leave out intervals"
    assert sentence in complaint_of(call("evaluate", run, "--intervals", "identical"))
