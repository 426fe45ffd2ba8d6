"""`targcn bench`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_results import run_here
from targcn.bench.measure import Result
from targcn.bench.result_table import result_table
from targcn.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The command in this process, in a folder without a plain version."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> None:
        try:
            main(["bench", *map(str, arguments)])
        except SystemExit as leaving:
            if leaving.code:
                raise

    return run


def test_the_command_prints_a_table_and_keeps_json(
    command: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept" / "sampler.json"
    shape = ("--facts", "1e3", "--entities", 40, "--skew", 0, "--queries", 8, "--device", "cpu")
    command("sampler", *shape, "--out", out)
    shown = capsys.readouterr().out
    assert "µs/query" in shown
    kept = json.loads(out.read_text())
    assert kept["data"]["shape"] == {
        "facts": 1000,
        "entities": 40,
        "relations": 200,
        "days": 365,
        "skew": 0.0,
        "seed": 0,
        "longest": 0,
    }
    command("sampler", *shape, "--json")
    printed = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in printed["rows"]] == [row["what"] for row in kept["rows"]]


def test_settings_are_flags(
    command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--facts", 400, "--dim", 8, "--batch-size", 64, "--repeats", 1, "--device", "cpu")
    command("epoch", *flags, "--json")
    content = json.loads(capsys.readouterr().out)
    assert content["arguments"]["settings"]["dim"] == 8
    assert content["rows"][0]["ratio_to_plain"] > 0


def test_every_figure_has_a_column(
    command: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("targcn.bench.measure.run_apart", run_here)
    monkeypatch.setattr("targcn.bench.predict.COMMANDS", 1)
    monkeypatch.setattr("targcn.bench.predict._time_command", lambda arguments: 1.0)
    one = lambda function, size, **how: [run_here(function, **how)]  # noqa: E731
    monkeypatch.setattr("targcn.bench.measure.run_group", one)
    small, plain = ("--facts", 100, "--entities", 20), ("--device", "cpu")
    for arguments in (
        ("sampler", *small, *plain, "--queries", 4),
        ("epoch", *small, *plain, "--dim", 4, "--repeats", 1),
        ("epoch", *small, *plain, "--model", "tntcomplex", "--repeats", 1),
        ("evaluate", *small, *plain, "--model", "seen", "--repeats", 1),
        ("predict", *small, "--model", "seen", "--questions", 3),
        ("ingest", "--rows", 50, 60, "--entities", 20),
        ("scale", *small, "--queries", 4, "--device", "cpu"),
        ("shards", *small, "--processes", 1),
    ):
        command(*arguments, "--json")
        content = json.loads(capsys.readouterr().out)
        del content["versions"]
        table = result_table(Result(**content | {"device": None}))
        for row, cells in zip(content["rows"], table.cells(), strict=True):
            shown = {column.key for column, cell in zip(table.columns, cells, strict=True) if cell}
            assert shown == row.keys()
        command(*arguments)
        assert capsys.readouterr().out.startswith(f"{arguments[0]}, generated, ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sampler", "--facts", "many"], "'many' is not a whole number"),
        (["sampler", "--facts", "1"], "facts is 1"),
        (["sampler", "congress", "--days", "9"], "leave out either it or --days"),
        (["missing", "nowhere"], "nowhere is not a run"),
        (["scale", "--facts", "1e3", "0.5"], "'0.5' is not a whole number"),
        (["epoch", "--facts", "100", "--device", "abacus"], "is not to be had here"),
    ],
)
def test_wrong_words_get_one_sentence(
    command: Callable[..., None],
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as leaving:
        command(*arguments)
    assert leaving.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1


def test_code_comes_from_the_package_alone(tmp_path: Path, command: Callable[..., None]) -> None:
    """A folder that one stands in may have a benchmarks/plain.py of anybody's."""
    (tmp_path / "benchmarks").mkdir()
    for path in (tmp_path / "benchmarks" / "plain.py", tmp_path / "plain.py"):
        path.write_text("from pathlib import Path; Path('executed').touch()")
    command("sampler", "--facts", 500, "--entities", 20, "--queries", 64, "--out", "x.json")
    assert (tmp_path / "x.json").exists()
    assert not (tmp_path / "executed").exists()
