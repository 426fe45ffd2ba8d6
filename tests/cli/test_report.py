"""`targcn report`: filled texts and plots, or one sentence that says why not."""

import json
import shutil
from pathlib import Path

import pytest

from small_results import write_results
from targcn.cli import main
from targcn.experiments.results import read_results
from targcn.experiments.tables import fill

TEXT = """# Title

<!-- table: {} -->
old words
<!-- end of table -->

`<!-- table: nothing -->` is no place for one.
"""


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as leaving:
        main(["report", *map(str, arguments)])
    assert leaving.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_the_command_fills_texts_and_draws_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    folder = write_results(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    write_results(folder, "main", "icews14", {"seen, no training": [0.4]})
    texts = [tmp_path / name for name in ("one.md", "two.md")]
    for path in texts:
        path.write_text(TEXT.format("context icews14 static"))
    out = tmp_path / "deep" / "out"
    with pytest.raises(SystemExit) as leaving:
        main(["report", str(folder), "--fill", *map(str, texts), "--plots", str(out)])
    assert leaving.value.code == 0
    printed = capsys.readouterr().out
    assert [path.name for path in out.iterdir()] == ["main-icews14.svg"]
    for path in texts:
        assert f"{path}: 1 table filled" in printed
        assert path.read_text() == fill(TEXT.format("context icews14 static"), read_results(folder))


def test_a_text_is_filled_where_it_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_results(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    text = TEXT.format("context icews14 static") + TEXT.format("context icews14 raw")
    target, linked, placeless = (tmp_path / name for name in ("text.md", "link.md", "plain.md"))
    target.write_text(text)
    linked.symlink_to(target.name)
    placeless.write_text("no place here\n")
    with pytest.raises(SystemExit) as leaving:
        main(["report", str(folder), "--fill", str(linked), str(placeless)])
    assert leaving.value.code == 0
    printed = [f"{linked}: 2 tables filled", f"{placeless}: 0 tables filled"]
    assert capsys.readouterr().out.splitlines() == printed
    assert linked.is_symlink()
    assert target.read_text() == fill(text, read_results(folder))
    assert placeless.read_text() == "no place here\n"


def test_what_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_results(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    cut, unevaluated, taken, good, bad = (
        tmp_path / name for name in ("cut", "unevaluated", "taken", "good.md", "bad.md")
    )
    for broken in (cut, unevaluated):
        shutil.copytree(folder, broken)
    (of_cut,) = cut.glob("*/*.json")
    of_cut.write_text(of_cut.read_text()[:-9])
    (of_unevaluated,) = unevaluated.glob("*/*.json")
    of_unevaluated.write_text(json.dumps(json.loads(of_unevaluated.read_text()) | {"figures": []}))
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
        ([cut, "--plots", out], f"{of_cut} is not the result of a cell ("),
        ([unevaluated, "--plots", out], f"{of_unevaluated} is not the result of a cell ("),
        ([folder, "--fill", good, bad, "--plots", out], f"{bad}: there is no experiment 'contxt'"),
        (
            [folder, "--fill", good, tmp_path / "no.md"],
            f"{tmp_path / 'no.md'}: No such",
        ),
        ([folder, "--fill", good, taken], f"{taken}: it is not a file"),
    ):
        assert sentence in complaint(capsys, *arguments)
    assert not out.exists()
    assert good.read_text() == TEXT.format("context icews14 static")
