"""The command line as a user meets it: through a process, with exit codes and both streams."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CSV = "subject,relation,object,date\n" + "".join(
    f"person {i % 7},meets,person {i * 3 % 5},2020-01-{i % 28 + 1:02d}\n" for i in range(40)
)


def targcn(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "targcn", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "120"} | environment,
        timeout=120,
    )


def complaint(*arguments: object) -> str:
    """What a refused command says: one sentence on stderr, nothing else, exit code 2."""
    answer = targcn(*arguments)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stdout == ""
    assert answer.stderr.startswith("targcn: ")
    assert answer.stderr.count("\n") == 1
    return answer.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "copy"
    trained = targcn("train", "--model", "decayed-copy", "--scale", "7", "--out", folder)
    assert trained.returncode == 0, trained.stderr
    assert "decayed-copy on congress, valid split" in trained.stdout
    assert "context train," in trained.stdout
    return folder


@pytest.mark.parametrize(
    "command",
    [[], ["data"], ["train"], ["evaluate"], ["models"], ["data", "prepare"], ["bench", "epoch"]],
)
def test_help_names_the_command(command: list[str]) -> None:
    answer = targcn(*command, "--help")
    assert answer.returncode == 0
    assert answer.stdout.startswith("Usage: targcn")


def test_the_defaults_shown_are_those_that_training_takes() -> None:
    shown = targcn("models", "targcn").stdout.splitlines()
    [neighbors] = [line.split()[1] for line in shown if line.startswith("--neighbors ")]
    assert neighbors == "50"


def test_a_terminal_that_lacks_letters_shows_others(run: Path) -> None:
    answer = targcn("evaluate", run, "--split", "valid", PYTHONIOENCODING="ascii")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "side     MRR    ?" in answer.stdout


def test_what_may_not_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Simulated: whoever runs the tests may be allowed to read everything."""
    from targcn import cli

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", "runs/x/run.json")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as leaving:
        cli.main([])
    assert leaving.value.code == 2
    assert capsys.readouterr().err == "targcn: runs/x/run.json: Permission denied\n"


def test_names_are_to_be_seen_before_they_are_used() -> None:
    import targcn

    assert {*targcn.__all__} <= {*dir(targcn)}


def test_version() -> None:
    from targcn import __version__

    assert targcn("--version").stdout.strip() == f"targcn {__version__}"


def test_data_list_shows_where_each_set_is(tmp_path: Path) -> None:
    answer = targcn("data", "list", TARGCN_DATA=str(tmp_path), TARGCN_CACHE=str(tmp_path))
    assert answer.returncode == 0
    assert "embedded" in answer.stdout
    assert answer.stdout.count("downloaded on first use") == 3


def test_data_info_as_json(tmp_path: Path) -> None:
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    described = json.loads(targcn("data", "info", path, "--json").stdout)
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
    assert "40 facts" in targcn("data", "prepare", path, "--out", prepared).stdout
    trained = targcn("train", prepared, "--model", "seen", "--out", kept)
    assert trained.returncode == 0, trained.stderr
    report = json.loads(targcn("evaluate", kept, "--json").stdout)
    assert report["num_queries"] == 8
    assert report["model"] == "seen"


def test_evaluate_prints_every_filter_and_names_its_context(run: Path) -> None:
    answer = targcn("evaluate", run, "--context", "train", "--by-relation")
    assert "test split: 8,318 queries, context train, mean rank on ties" in answer.stdout
    for word in ("raw", "static", "time-aware", "object", "subject", "serves beside"):
        assert word in answer.stdout


def test_what_is_asked_about_is_not_in_the_context_unless_one_says_so(run: Path) -> None:
    plain = targcn("evaluate", run, "--split", "valid", "--json")
    assert json.loads(plain.stdout)["context"] == "train"
    assert plain.stderr == ""
    seen = targcn("evaluate", run, "--split", "valid", "--context", "train+valid", "--json")
    assert json.loads(seen.stdout)["context"] == "train+valid"
    for said in (seen, targcn("evaluate", run, "--split", "train")):
        assert "facts that are asked about were in sight themselves" in said.stderr
    assert json.loads(targcn("evaluate", run, "--json").stdout)["context"] == "train+valid"


def test_evaluate_as_json_has_the_promised_shape(run: Path) -> None:
    report = json.loads(targcn("evaluate", run, "--split", "valid", "--json").stdout)
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


def test_derive_writes_a_set_that_can_be_used(tmp_path: Path) -> None:
    out = tmp_path / "unseen"
    answer = targcn("data", "derive", "unseen", "congress", "--out", out, "--seed", "3")
    assert answer.returncode == 0
    assert "seed 3" in answer.stdout
    assert json.loads(targcn("data", "info", out, "--json").stdout)["name"] == "congress-unseen"


def test_models_lists_models_and_their_settings() -> None:
    assert "decayed-copy" in targcn("models").stdout
    assert "--scale" in targcn("models", "decayed-copy").stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "targcn"
    small = ("--epochs", 1, "--size", 8, "--batch-size", 4096, "--neighbors", 5, "--window", 16)
    answer = targcn("train", "--out", folder, *small)
    assert answer.returncode == 0, answer.stderr
    assert "targcn on congress, valid split" in answer.stdout
    return folder


def test_predict_shows_answers_and_reasons(trained: Path) -> None:
    question = ("Ted Kennedy", "serves beside", "?", "2009")
    answer = targcn("predict", trained, *question, "--top", 3, "--explain")
    assert answer.returncode == 0, answer.stderr
    assert "context train+valid" in answer.stdout
    assert "probability" in answer.stdout
    assert "facts" in answer.stdout


def test_tensorboard_curves_lie_beside_the_run(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    flags = ("--epochs", 1, "--size", 4, "--out", tmp_path / "run", "--tensorboard")
    answer = targcn("train", path, *flags)
    assert answer.returncode == 0, answer.stderr
    assert list((tmp_path / "run-tensorboard").glob("events*"))


def test_curves_that_cannot_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    assert "is not a run" in complaint("train", "--resume", tmp_path / "gone", "--tensorboard")
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    (tmp_path / "run-tensorboard").touch()
    flags = ("--epochs", 1, "--size", 4, "--out", tmp_path / "run", "--tensorboard")
    assert "a file stands where a folder is needed" in complaint("train", path, *flags)


def test_predict_as_json(trained: Path) -> None:
    question = ("?", "serves beside", "John Kerry", "1999")
    answer = targcn("predict", trained, *question, "--top", 2, "--json")
    content = json.loads(answer.stdout)
    assert [row["rank"] for row in content["answers"]] == [1, 2]
    assert set(content["answers"][0]) == {"rank", "answer", "score", "probability", "known"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predict_a_table_of_questions(trained: Path, tmp_path: Path, ending: str) -> None:
    import polars as pl

    questions, out = tmp_path / "questions.csv", tmp_path / f"answers.{ending}"
    questions.write_text(
        "subject,relation,object,time\n"
        "Ted Kennedy,serves beside,?,2009\n"
        ",succeeded,John Kerry,2013\n"
    )
    answer = targcn("predict", trained, "--queries", questions, "--out", out, "--top", 2)
    assert answer.returncode == 0, answer.stderr
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    frame = read(out)
    assert frame["question"].to_list() == [0, 0, 1, 1]
    assert "already exists" in complaint("predict", trained, "--queries", questions, "--out", out)


def test_explain_as_json(trained: Path) -> None:
    fact = ("Ted Kennedy", "serves beside", "John Kerry", "2009")
    content = json.loads(targcn("explain", trained, *fact, "--top", 2, "--json").stdout)
    assert content["context"] == "train+valid"
    assert len(content["reasons"]) == 2


def test_questions_that_cannot_be_asked(trained: Path) -> None:
    beside = "serves beside"
    for question, sentence in (
        (["Ted Kenedy", beside, "?", "2009"], "did you mean 'Ted Kennedy'"),
        (["Ted Kennedy", "serves besides", "?", "2009"], "did you mean 'serves beside'"),
        (["?", beside, "?", "2009"], "exactly one of subject and object"),
        (["Ted Kennedy", beside, "John Kerry", "2009"], "exactly one of subject and object"),
        (["Ted Kennedy", beside, "?", "yesterday"], "'yesterday' is not a date"),
        (["Ted Kennedy", beside], "four parts"),
    ):
        assert sentence in complaint("predict", trained, *question)


def test_a_published_run_can_be_overridden(tmp_path: Path) -> None:
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    assert "has no run 'papre'" in complaint("train", path, "--run", "papre")
    out = tmp_path / "run"
    flags = ("--epochs", 1, "--size", 8, "--decoder", "bique")
    assert targcn("train", path, "--out", out, *flags).returncode == 0
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["settings"]["decoder"] == "bique"
    assert manifest["training"]["epochs"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "--model", "sean"], "no model 'sean'; did you mean 'seen'?"),
        (["models", "sean"], "no model 'sean'; did you mean 'seen'?"),
        (["train", "--modle", "seen"], "did you mean --model?"),
        (["train", "--model", "decayed-copy", "--scael", "3"], "did you mean --scale?"),
        (
            ["train", "--model", "decayed-copy", "--scale", "wide"],
            "scale is 'wide'; a number was expected",
        ),
        (["train", "--model", "decayed-copy", "--scale", "0"], "above 0"),
        (["train", "congres"], "did you mean 'congress'?"),
        (["data", "info", "icews41"], "did you mean 'icews14'?"),
        (["data", "derive", "unsene", "congress", "--out", "x"], "unsene"),
        (
            ["data", "derive", "unseen", "congress", "--out", "x", "--seed", "-1"],
            "seed is -1; 0 or",
        ),
        (["data", "info", "congress", "--split-seed", "-1"], "split_seed is -1; 0 or more"),
        (["evaluate", "no-such-run"], "there is no run no-such-run"),
        (["train", "--seed", "seven"], "seven"),
        (["train", "--seed", "-1"], "seed is -1; 0 up to 2147483647 was expected"),
        (["train", "--seed", "9" * 20], "0 up to 2147483647 was expected"),
        (["train", "--batch-size", "9" * 20], "1 to 2147483647 is what can be used"),
        (["train", "--decay", "1e-300"], "decay is 1e-300; 1e-37 to 1e+38 is what can be used"),
        (["train", "--resume", "r", "--epochs", "50"], "--resume goes on with r as it was begun"),
        (["train", "icews14", "--resume", "r"], "leave out the data set, --model"),
        (["train", "--decoder", "bique", "--size", "20"], "16 or 24 would do"),
        (["train", "--neighbors", "0"], "at least 1"),
        (["train", "--epochs", "0"], "at least 1"),
        (["train", "--device", "cuda:7"], "is not to be had here"),
        (["train", "--device", "abacus"], "device 'abacus' is not to be had here"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_wrong_words_get_one_sentence(arguments: list[str], sentence: str) -> None:
    assert sentence in complaint(*arguments)


def test_an_out_that_exists_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    out.mkdir()
    (out / "precious").write_text("mine")
    for command in (
        ["data", "prepare", "congress"],
        ["data", "derive", "irregular", "congress"],
        ["train", "congress"],
    ):
        assert "already exists" in complaint(*command, "--out", out)
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "precious"]


def test_a_damaged_run_is_explained(run: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    whole = (broken / "data/train.npy").read_bytes()
    (broken / "data/train.npy").write_bytes(whole[: len(whole) // 2])
    assert "damaged or half-written" in complaint("evaluate", broken)


def test_without_a_compiler_a_sentence_says_so(tmp_path: Path) -> None:
    path = tmp_path / "meetings.csv"
    path.write_text(CSV)
    words = ["--model", "boxte", "--compile", "true", "--epochs", "1", "--batch-size", "2"]
    words += ["--out", tmp_path / "run", "--device", "cpu"]
    answer = targcn("train", path, *words, CXX="no compiler", CC="no compiler")
    assert answer.returncode == 0, answer.stderr
    # Of the steps, and of the scores of all entities.
    said = answer.stderr.splitlines()
    assert len(said) == 2
    assert all(line.startswith("targcn: warning: going on uncompiled: ") for line in said)


def test_train_without_out_takes_a_free_folder(tmp_path: Path) -> None:
    code = "from targcn.cli import main; main(['train', '--model', 'seen'])"
    for expected in ("congress-seen", "congress-seen-2"):
        subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL
        )
        assert (tmp_path / "runs" / expected / "run.json").is_file()


def test_a_closed_pipe_is_no_traceback(run: Path) -> None:
    process = subprocess.run(
        f"{sys.executable} -m targcn evaluate {run} --by-relation --json | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert process.stdout == "{\n"
    assert "Traceback" not in process.stderr
