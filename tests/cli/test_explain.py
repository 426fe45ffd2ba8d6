"""`targcn explain`."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import call, start
from oracle import World
from targcn import fit, save_run

FACTS = [(day % 3, 0, (day + 1) % 3, day) for day in range(20)]
FACT = ("e0", "r0", "e1", "1970-01-04")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "targcn"
    dataset = World(3, 1, FACTS, cuts=(18, 19)).dataset
    small: dict[str, Any] = {"dim": 8, "neighbors": 5, "window": 16, "epochs": 1, "device": "cpu"}
    save_run(fit(dataset, "targcn", **small), folder)
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
