"""The program as a user meets it: through a process, with exit codes and both streams."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from command_line import call, complaint_of, start

pytestmark = pytest.mark.slow


EVERY_HELP = """
import sys
from targcn.cli import app

def show(part, words):
    try:
        app([*words, "--help"])
    except SystemExit as left:
        assert not left.code, words
    for name in part:
        if not name.startswith("-"):
            show(part[name], [*words, name])

show(app, [])
print(sorted({"torch", "numpy", "polars", "optuna", "fastapi", "uvicorn"} & set(sys.modules)))
"""


def test_no_help_loads_a_heavy_library() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_HELP], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *shown, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    # Commands of commands are among them.
    usages = [line for line in shown if line.startswith("Usage: targcn")]
    for command in ("", "train", "evaluate", "models", "data prepare", "data derive"):
        assert any(f"{line} ".startswith(f"Usage: targcn {command}") for line in usages), command


def test_every_command_is_documented() -> None:
    from targcn.cli import app

    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in (name for name in app if not name.startswith("-")):
        parts = [f"{name} {part}" for part in app[name] if not part.startswith("-")]
        for command in parts or [name]:
            assert f"targcn {command}" in text, command


def test_every_option_in_the_docs_is_one_of_its_command() -> None:
    from targcn.cli import app
    from targcn.models.registry import MODELS, find_model
    from targcn.recipes.training_settings import TrainingSettings

    kinds = [TrainingSettings, *(find_model(name).Settings for name in MODELS)]
    settings = {f"--{field.name}".replace("_", "-") for kind in kinds for field in fields(kind)}
    names = "|".join(name for name in app if not name.startswith("-"))
    commands = rf"targcn ({names})\b(?: ([a-z]+))?([^`\n#]*)"
    root = Path(__file__).parents[2]
    for page in (root / "README.md", *(root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for name, part, words in re.findall(commands, text):
            command = app[name][part] if part and part in app[name] else app[name]
            known = {
                word for given in command.assemble_argument_collection() for word in given.names
            }
            if "--[KEYWORD]" in known:
                known |= settings
            said = re.findall(r"--[a-z][a-z-]*", words.partition("targcn ")[0])
            assert {*said} <= known | {"--help"}, (page, name, words)


def test_version() -> None:
    from targcn import __version__

    assert start("--version").stdout.strip() == f"targcn {__version__}"


def test_what_may_not_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Simulated: whoever runs the tests may be allowed to read everything."""
    from targcn import cli

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", "runs/x/run.json")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as leaving:
        cli.main(["models"])
    assert leaving.value.code == 2
    assert capsys.readouterr().err == "targcn: runs/x/run.json: Permission denied\n"


def test_a_terminal_that_lacks_letters_shows_others(run: Path) -> None:
    answer = start("evaluate", run, "--split", "valid", PYTHONIOENCODING="ascii")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "side     MRR    ?" in answer.stdout


def test_a_closed_pipe_is_no_traceback(run: Path) -> None:
    process = subprocess.run(
        f"{sys.executable} -m targcn evaluate {run} --by-relation --json | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert process.stdout == "{\n"
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "--model", "sean"], "no model 'sean'; did you mean 'seen'?"),
        (["train", "--modle", "seen"], "did you mean --model?"),
        (["train", "--model", "decayed-copy", "--scael", "3"], "did you mean --scale?"),
        (["data", "info", "icews41"], "did you mean 'icews14'?"),
        (["data", "derive", "unsene", "congress", "--out", "x"], "unsene"),
        (
            ["data", "derive", "unseen", "congress", "--out", "x", "--seed", "-1"],
            "seed is -1; it cannot",
        ),
        (["data", "info", "--uint", "day"], "Unknown option: --uint. Did you mean --unit?"),
        (["data", "info", "--where", "relation ="], "'relation =' is no SQL expression: "),
        (["data", "info", "--encoding", "latin-99"], "encoding 'latin-99' is unknown"),
        (["evaluate", "no-such-run"], "no-such-run is not a run: it has no run.json"),
        (["explain", "no-such-run", *"sroT", "--plot", "a.txt"], "a.txt should end in .png, .svg"),
        (["rules", "no-such-run", "--out", "a.txt"], "a.txt should end in .csv, .json or .md"),
        (
            ["predict", "no-such-run", *"sroT", "--out", "a.txt"],
            "a.txt should end in .csv, .jsonl or .parquet",
        ),
        (
            ["predict", "run", "--queries", "t.csv", "--explain"],
            "--queries answers a table; leave out --explain",
        ),
        (
            ["predict", "run", *"sroT", "--queries", "t.csv", "--explain"],
            "leave out a question in words and --explain",
        ),
        (["train", "--seed", "seven"], "seven"),
        (["train", "--seed", "9" * 20], "0 up to 2147483647 was expected"),
        (["train", "--batch-size", "9" * 20], "1 to 2147483647 was expected"),
        (["train", "--resume", "r", "--epochs", "50"], "--resume goes on with r as it was begun"),
        (["train", "icews14", "--resume", "r"], "leave out the data set, --model"),
        (["train", "--epochs", "0"], "at least 1"),
        (["train", "--device", "abacus"], "device 'abacus' is not to be had here"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_wrong_words_get_one_sentence(arguments: list[str], sentence: str) -> None:
    assert sentence in complaint_of(call(*arguments))


def test_bash_completes_what_is_begun(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    answer = start(
        "--install-completion", "--shell", "bash", "--output", script, HOME=str(tmp_path)
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    words = "COMP_WORDS=(targcn data pre); COMP_CWORD=2; _targcn; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", f". {script}; {words}"], capture_output=True, text=True)
    assert done.stdout == "prepare\n"
