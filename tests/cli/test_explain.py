"""`targcn explain`."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import call, complaint_of, start
from oracle import World
from targcn import fit, rules, save_run

FACTS = [(day % 3, 0, (day + 1) % 3, day) for day in range(20)]
DATASET = World(3, 1, FACTS, cuts=(18, 19)).dataset
FACT = ("e0", "r0", "e1", "1970-01-04")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "targcn"
    small: dict[str, Any] = {"dim": 8, "neighbors": 5, "window": 16, "epochs": 1, "device": "cpu"}
    save_run(fit(DATASET, "targcn", **small), folder)
    return folder


@pytest.mark.slow
def test_the_program_shows_reasons_and_plots_them(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "reasons.svg"
    answer = start("explain", run, *FACT, "--top", 2, "--plot", plot)
    assert (answer.returncode, answer.stderr) == (0, "")
    first, hidden, *reasons = answer.stdout.splitlines()
    assert first.startswith("e0 — r0 — e1, 1970-01-04: probability 0.")
    assert first.endswith("from 5 facts of the context all")
    assert hidden == "The fact itself is in the context and was hidden."
    assert [reason[0] in "+-" for reason in reasons] == [True, True]
    assert plot.is_file()


def test_an_explanation_as_json(run: Path) -> None:
    content = json.loads(call("explain", run, *FACT, "--top", 2, "--json").stdout)
    assert (content["context"], content["filter"], content["ties"]) == (
        "all",
        "time-aware",
        "mean",
    )
    assert 1 <= content["rank"] <= 3
    assert content["fact_was_hidden"] is True
    assert len(content["reasons"]) == 2


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "evidence"
    save_run(fit(DATASET, "evidence", dim=4, epochs=1, device="cpu"), folder)
    return folder


def test_files_and_json_hold_the_same_values(evidence: Path, tmp_path: Path) -> None:
    out = tmp_path / "rules.csv"
    answer = call("rules", evidence, "--relation", "r0", "--top", 3, "--json", "--out", out)
    shown = json.loads(answer.stdout)
    assert [one["rule"] for one in shown] == [str(rule) for rule in rules(evidence, top=3)]
    with out.open(encoding="utf-8", newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [float(one["weight"]) for one in written] == [one["weight"] for one in shown]
    assert "already exists" in complaint_of(call("rules", evidence, "--out", out))
