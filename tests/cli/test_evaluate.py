"""`targcn evaluate`."""

import json
from pathlib import Path

import polars as pl
import pytest

from command_line import CSV, call, complaint_of
from oracle import World
from targcn import fit, save_run


def test_evaluate_prints_every_filter_and_names_its_context(run: Path) -> None:
    answer = call("evaluate", run, "--context", "train", "--by-relation")
    assert "8,318 queries, test split, context train, mean rank on ties" in answer.stdout
    for word in ("raw", "static", "time-aware", "object", "subject", "serves beside"):
        assert word in answer.stdout


def test_any_run_can_be_evaluated_with_the_past_alone(run: Path) -> None:
    past, usual = (
        json.loads(call("evaluate", run, *more, "--json").stdout)
        for more in (("--context", "past"), ())
    )
    assert past["context"] == "past"
    assert past["metrics"]["time-aware"] != usual["metrics"]["time-aware"]


@pytest.mark.slow
def test_what_is_asked_about_is_not_in_the_context_unless_one_says_so(run: Path) -> None:
    plain = call("evaluate", run, "--split", "valid", "--json")
    assert json.loads(plain.stdout)["context"] == "train"
    assert plain.stderr == ""
    seen = call("evaluate", run, "--split", "valid", "--context", "train+valid", "--json")
    assert json.loads(seen.stdout)["context"] == "train+valid"
    for said in (seen, call("evaluate", run, "--split", "train")):
        assert "what it remembers, not what it can predict" in said.stderr
    assert json.loads(call("evaluate", run, "--json").stdout)["context"] == "train+valid"


def test_evaluate_as_json_has_the_promised_shape(run: Path) -> None:
    report = json.loads(call("evaluate", run, "--split", "valid", "--json").stdout)
    assert [report[key] for key in ("dataset", "model", "split", "context", "ties")] == [
        "congress",
        "decayed-copy",
        "valid",
        "train",
        "mean",
    ]
    assert set(report["metrics"]) == {"raw", "static", "time-aware"}
    for sides in report["metrics"].values():
        assert set(sides) == {"both", "object", "subject"}
        for figures in sides.values():
            assert set(figures) == {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank"}


def test_a_run_says_how_it_was_made(run: Path) -> None:
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["settings"]["scale"] == 7.0
    card = (run / "README.md").read_text()
    assert "time-aware" in card
    assert "context train," in card


def test_a_damaged_run_is_explained(run: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    whole = (broken / "data/train.npy").read_bytes()
    (broken / "data/train.npy").write_bytes(whole[: len(whole) // 2])
    assert "damaged or half-written" in complaint_of(call("evaluate", broken))


def test_newer_facts_join_the_context(run: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.csv"
    more.write_text("subject,relation,object,time\nJane Doe,succeeded,Barack Obama,2017\n")
    answer = call("evaluate", run, "--facts", more)
    assert answer.stdout.startswith("decayed-copy on congress with 1 added fact: 8,318 queries")
    assert "facts of more.csv: 1 added to the context" in answer.stdout
    assert "are scored by their facts alone: Jane Doe" in answer.stdout


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


def test_a_reliability_plot(run: Path, tmp_path: Path) -> None:
    data = tmp_path / "facts.csv"
    data.write_text(CSV)
    trained = tmp_path / "run"
    small = ("--model", "distmult", "--dim", 4, "--epochs", 1, "--device", "cpu")
    assert "expected calibration error" in call("train", data, *small, "--out", trained).stdout
    assert "Probabilities: expected calibration error" in (trained / "README.md").read_text()
    shown = call("evaluate", trained, "--plot", tmp_path / "x.svg")
    assert "expected calibration error" in shown.stdout
    assert (tmp_path / "x.svg").exists()
    content = json.loads(call("evaluate", trained, "--json").stdout)["calibration"]
    assert content["temperature"] == json.loads((trained / "run.json").read_text())["temperature"]
    refused = complaint_of(call("evaluate", run, "--plot", tmp_path / "y.svg"))
    assert "the scores of decayed-copy do not stand for probabilities" in refused
    refused = complaint_of(call("evaluate", run, "--plot", tmp_path / "y.svg", "--ask", "time"))
    assert "--plot shows the probabilities of entities; leave out --ask" in refused


def test_how_intervals_are_asked_is_chosen_and_named(run: Path, tmp_path: Path) -> None:
    facts = [(n % 5, 0, n * n % 5, n, n + n % 3) for n in range(12)]
    save_run(fit(World(5, 1, facts, cuts=(6, 8)).dataset, "seen"), tmp_path / "lasting")
    figures = {}
    for protocol in ("enumerate-time", "identical"):
        more = ("--intervals", protocol)
        assert f"intervals {protocol}" in call("evaluate", tmp_path / "lasting", *more).stdout
        report = json.loads(call("evaluate", tmp_path / "lasting", *more, "--json").stdout)
        assert report["intervals"] == protocol
        figures[protocol] = report["metrics"]
    plain = json.loads(call("evaluate", tmp_path / "lasting", "--json").stdout)
    assert plain["metrics"] == figures["enumerate-time"]
    timed = call("evaluate", tmp_path / "lasting", "--ask", "time").stdout
    assert "intervals first-tick" in timed
    assert "aeIOU" in timed
    sentence = "has no facts with a beginning and an end; leave out intervals"
    assert sentence in complaint_of(call("evaluate", run, "--intervals", "identical"))
