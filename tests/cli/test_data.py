"""`targcn data`."""

import json
from pathlib import Path

from command_line import CSV, call, start


def test_data_list_shows_where_each_set_is(tmp_path: Path) -> None:
    answer = start("data", "list", TARGCN_DATA=str(tmp_path), TARGCN_CACHE=str(tmp_path))
    assert answer.returncode == 0
    assert "embedded" in answer.stdout
    assert answer.stdout.count("downloaded on first use") == 3
    assert answer.stdout.count("made from icews14 ") == 2


def test_data_info_as_json(tmp_path: Path) -> None:
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    described = json.loads(call("data", "info", path, "--json").stdout)
    assert described["name"] == "meetings"
    assert described["num_facts"] == {"train": 32, "valid": 4, "test": 4}
    assert described["time"] == {
        "unit": "day",
        "first": "2020-01-01",
        "last": "2020-01-28",
        "num_times": 28,
    }


def test_prepare_then_train_then_evaluate(tmp_path: Path) -> None:
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    prepared, kept = tmp_path / "prepared", tmp_path / "run"
    assert "40 facts" in call("data", "prepare", path, "--out", prepared).stdout
    trained = call("train", prepared, "--model", "seen", "--out", kept)
    assert trained.returncode == 0, trained.stderr
    report = json.loads(call("evaluate", kept, "--json").stdout)
    assert report["num_queries"] == 8
    assert report["model"] == "seen"


def test_derive_writes_a_set_that_can_be_used(tmp_path: Path) -> None:
    out = tmp_path / "unseen"
    answer = call("data", "derive", "unseen", "congress", "--out", out, "--seed", "3")
    assert answer.returncode == 0
    assert "seed 3" in answer.stdout
    assert json.loads(call("data", "info", out, "--json").stdout)["name"] == "congress-unseen-seed3"


def test_derive_can_halve_in_the_order_of_the_file(tmp_path: Path) -> None:
    out = tmp_path / "unseen"
    answer = call("data", "derive", "unseen", "congress", "--out", out, "--halves", "file-order")
    assert answer.returncode == 0
    assert "divided in the order of the file" in answer.stdout
    assert json.loads(call("data", "info", out, "--json").stdout)["name"] == "congress-unseen"
