"""`targcn evaluate`."""

import json
import shutil
from pathlib import Path

from command_line import call, complaint_of


def test_evaluate_prints_every_filter_and_names_its_context(run: Path) -> None:
    answer = call("evaluate", run, "--context", "train", "--by-relation")
    assert "8,318 queries, test split, context train, mean rank on ties" in answer.stdout
    for word in ("raw", "static", "time-aware", "object", "subject", "serves beside"):
        assert word in answer.stdout


def test_a_run_of_an_older_version_is_refused(run: Path, tmp_path: Path) -> None:
    old = shutil.copytree(run, tmp_path / "old")
    settings = {"facts": 128, "relation_facts": 128, "partners": 128}
    manifest = json.loads((old / "run.json").read_text())
    manifest |= {"model": "evidence", "settings": settings}
    (old / "run.json").write_text(json.dumps(manifest))
    sentence = "evidence.relation_facts is a setting of older versions; train again without it"
    assert complaint_of(call("evaluate", old)) == f"targcn: {old}/run.json: {sentence}\n"


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
