"""`targcn reproduce`: every experiment from the command line."""

from pathlib import Path

import pytest

from command_line import call, complaint_of, output_of
from small_results import write_results
from targcn.experiments.results import read_results
from targcn.experiments.spec import EXPERIMENTS, find_experiment
from targcn.experiments.tables import fill

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "which experiment?"),
        (["mian"], "there is no experiment 'mian'; did you mean 'main'?"),
        (
            ["unseen", "--data", "gdelt"],
            "gdelt is no data set of these; choose from icews14, icews14-u",
        ),
        (["main", "--seeds", "0"], "seeds is 0; at least 1 was expected"),
        (["main", "--jobs", "0"], "jobs is 0; at least 1 was expected"),
        (["main", "--quick", "--data", "icews14"], "a quick run is on congress alone"),
        (["context", "--quick", "--results", __file__], "cannot write"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(arguments: list[str], sentence: str) -> None:
    assert sentence in complaint_of(call("reproduce", *arguments))


def test_all_experiments_in_a_quick_run(tmp_path: Path) -> None:
    """The whole shape on the embedded data, by two processes; then nothing is left to run."""
    results = tmp_path / "results"
    command = ["reproduce", "all", "--quick", "--device", "cpu", "--results", results]
    said = output_of(*command, "--jobs", 2)
    for name in EXPERIMENTS:
        assert find_experiment(name).title in said
    assert "not run" not in said
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.json")}
    assert f"{len(before)} of {len(before)}: " in said
    assert f" of {len(before)}: " not in output_of(*command)
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*.json")} == before


TEXT = """# Title

<!-- table: {} -->
old words
<!-- end of table -->

`<!-- table: nothing -->` is no place for one.
"""


def test_the_command_fills_texts_and_draws_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = write_results(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    write_results(folder, "main", "icews14", {"seen, no training": [0.4]})
    texts = [tmp_path / name for name in ("one.md", "two.md")]
    for path in texts:
        path.write_text(TEXT.format("context icews14 static"))
    out = tmp_path / "deep" / "out"
    printed = output_of("report", folder, "--fill", *texts, "--plots", out)
    assert [path.name for path in out.iterdir()] == ["main-icews14.svg"]
    for path in texts:
        assert f"{path}: 1 table filled" in printed
        assert path.read_text() == fill(TEXT.format("context icews14 static"), read_results(folder))


def test_a_text_is_filled_where_it_lies(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    text = TEXT.format("context icews14 static") + TEXT.format("context icews14 raw")
    target, linked, placeless = (tmp_path / name for name in ("text.md", "link.md", "plain.md"))
    target.write_text(text)
    linked.symlink_to(target.name)
    placeless.write_text("no place here\n")
    printed = output_of("report", folder, "--fill", linked, placeless)
    assert printed == f"{linked}: 2 tables filled\n{placeless}: 0 tables filled\n"
    assert linked.is_symlink()
    assert target.read_text() == fill(text, read_results(folder))
    assert placeless.read_text() == "no place here\n"


def test_what_the_command_refuses(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    taken, good, bad = (tmp_path / name for name in ("taken", "good.md", "bad.md"))
    taken.mkdir()
    good.write_text(TEXT.format("context icews14 static"))
    bad.write_text(TEXT.format("contxt icews14 static"))
    out = tmp_path / "out"
    for arguments, sentence in (
        ([folder], "nothing to write; --fill FILE fills the tables of a text"),
        (
            [tmp_path / "gone", "--plots", out],
            f"there is no result in {tmp_path / 'gone'}; 'targcn",
        ),
        ([taken, "--plots", out], f"there is no result in {taken}; 'targcn reproduce NAME'"),
        ([folder, "--fill", good, bad, "--plots", out], f"{bad}: there is no experiment 'contxt'"),
        (
            [folder, "--fill", good, tmp_path / "no.md"],
            f"{tmp_path / 'no.md'}: No such",
        ),
        ([folder, "--fill", good, taken], f"{taken}: it is not a file"),
    ):
        assert sentence in complaint_of(call("report", *arguments))
    assert not out.exists()
    assert good.read_text() == TEXT.format("context icews14 static")
