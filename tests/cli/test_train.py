"""`targcn train`, stopped and resumed."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import call, complaint_of, start
from small_training import FACTS, saved_state
from targcn.errors import InputError
from targcn.truth import training

pytestmark = pytest.mark.slow


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    table = tmp_path / "facts.csv"
    rows = [f"e{s},r{r},e{o},2020-01-{t + 1:02d}" for s, r, o, t in FACTS]
    table.write_text("\n".join(["subject,relation,object,date", *rows]) + "\n")
    folder = tmp_path / "run"
    small = [
        "--model=targcn",
        "--dim=16",
        "--neighbors=8",
        "--epochs=100000",
        "--batch-size=64",
        "--validate-every=20",
    ]
    command = [sys.executable, "-m", "targcn", "train"]
    process = subprocess.Popen(
        [*command, str(table), "--out", str(folder), "--device", "cpu", *small],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (folder / "trace.jsonl").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    said = re.sub(r"\s+", " ", said)
    assert f"go on with: targcn train --resume {folder}" in said
    _, position = saved_state(folder)
    assert 0 < position["epoch"] < 100_000


def test_without_a_compiler_a_sentence_says_so(meetings: Path, tmp_path: Path) -> None:
    words = ["--model", "boxte", "--compile", "true", "--epochs", "1", "--batch-size", "2"]
    words += ["--out", tmp_path / "run", "--device", "cpu", "--gaps", "none"]
    answer = start("train", meetings, *words, CXX="no compiler", CC="no compiler")
    assert answer.returncode == 0, answer.stderr
    # Of the steps, and of the scores of all entities; a slow machine shows progress too.
    said = [line for line in answer.stderr.splitlines() if "epoch" not in line]
    assert len(said) == 2
    assert all(line.startswith("targcn: warning: going on uncompiled: ") for line in said)


def test_train_without_out_takes_a_free_folder(tmp_path: Path) -> None:
    code = "from targcn.cli import main; main(['train', '--model', 'seen', '--gaps', 'none'])"
    for expected in ("congress-seen", "congress-seen-2"):
        subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL
        )
        assert (tmp_path / "runs" / expected / "run.json").is_file()


def test_a_final_model_is_trained_on_every_fact(meetings: Path, tmp_path: Path) -> None:
    data, out = meetings, tmp_path / "run"
    small = ("--model", "distmult", "--dim", 4, "--epochs", 3, "--device", "cpu", "--gaps=none")
    shown = call("train", data, "--split", "none", *small, "--out", out)
    assert shown.returncode == 0, shown.stderr
    said, kept = shown.stdout.splitlines()
    assert said.startswith("no valid split: the weights after all 3 epochs are kept")
    assert kept.endswith(f"ask it with: targcn predict {out} SUBJECT RELATION '?' TIME")
    record = json.loads((out / "metrics.json").read_text())
    assert (record["trained"]["best_epoch"], record["reports"]) == (3, [])
    assert "no facts in its test split" in complaint_of(call("evaluate", out))
    asked = call("predict", out, "person 1", "meets", "?", "2020-01-03", "--top", 1)
    assert asked.stdout.startswith("person 1 — meets — ?, 2020-01-03 (context all)")
    assert "not split: all" in call("data", "info", data, "--split", "none").stdout


def test_a_judge_of_truth_is_kept_with_the_run(
    meetings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "LEAST_STEPS", 5)
    kept = {}
    for gaps in ("mixed", "facts", "none"):
        answer = call("train", meetings, "--model=seen", "--gaps", gaps, "--out", tmp_path / gaps)
        assert answer.returncode == 0, answer.stderr
        kept[gaps] = [path.name for path in (tmp_path / gaps).glob("truth-*")]
        assert ("what is true, for 'targcn missing" in answer.stderr) == (gaps != "none")
    assert kept == {gaps: [f"truth-{gaps}.safetensors"] for gaps in ("mixed", "facts")} | {
        "none": []
    }

    def too_large(*_: object, **__: object) -> None:
        raise InputError("there is too much of it")

    monkeypatch.setattr("targcn.runs.judge.fit_judge", too_large)
    answer = call("train", meetings, "--model=seen", "--out", tmp_path / "large")
    assert (answer.returncode, (tmp_path / "large" / "run.json").is_file()) == (0, True)
    assert "warning: what is true was not learned: there is too much of it" in answer.stderr


def test_the_defaults_shown_are_those_that_training_takes() -> None:
    shown = call("models", "targcn").stdout.splitlines()
    [neighbors] = [line.split()[1] for line in shown if line.startswith("--neighbors ")]
    assert neighbors == "50"


def test_models_lists_models_and_their_settings() -> None:
    assert "decayed-copy" in call("models").stdout
    assert "--scale" in call("models", "decayed-copy").stdout
