"""`targcn rules`."""

import csv
import json
from pathlib import Path

import pytest

from command_line import call, complaint_of, start
from oracle import World
from targcn import fit, rules, save_run

FACTS = [(day % 3, 0, (day + 1) % 3, day) for day in range(20)]
DATASET = World(3, 1, FACTS, cuts=(18, 19)).dataset


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "evidence"
    save_run(fit(DATASET, "evidence", dim=4, epochs=1, device="cpu"), folder)
    return folder


@pytest.mark.slow
def test_the_program_shows_rules(run: Path) -> None:
    answer = start("rules", run, "--top", 2)
    assert (answer.returncode, answer.stderr) == (0, "")
    labels, *lines, note = answer.stdout.splitlines()
    assert labels.split() == ["rule", "weight", "support"]
    best, second = rules(run, top=2)
    assert lines[0].startswith(str(best))
    assert f"seen {second.support} time" in lines[1]
    assert note.startswith("A relation is read from its subject to its object")


def test_files_and_json_hold_the_same_values(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "rules.csv"
    answer = call("rules", run, "--relation", "r0", "--top", 3, "--json", "--out", out)
    shown = json.loads(answer.stdout)
    assert [one["rule"] for one in shown] == [str(rule) for rule in rules(run, top=3)]
    with out.open(encoding="utf-8", newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [float(one["weight"]) for one in written] == [one["weight"] for one in shown]
    assert "already exists" in complaint_of(call("rules", run, "--out", out))


def test_other_models_are_refused(tmp_path: Path) -> None:
    save_run(fit(DATASET, "seen"), tmp_path / "run")
    assert "give a run of evidence" in complaint_of(call("rules", tmp_path / "run"))
