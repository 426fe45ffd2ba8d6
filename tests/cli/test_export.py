"""`targcn export`."""

from pathlib import Path

import pytest

from command_line import call, complaint_of

QUESTION = "Ted Kennedy | serves beside | ? | 2009"


def test_one_file_is_written(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    answer = call("export", run, "--question", QUESTION, "--out", out)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"wrote {out}\n", "")
    assert "<title>Ted Kennedy — serves beside — ? — 2009</title>" in out.read_text(
        encoding="utf-8"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    again = call("export", run, "--question", QUESTION, "--out", out)
    assert "already exists" in complaint_of(again)


def test_predictions_are_written_for_other_programs(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = call("export", run, "--to", "csv", "--top", 2, "--out", out)
    assert (answer.returncode, answer.stdout) == (0, f"wrote {out}\n")
    lines = (out / "predictions.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "subject,relation,object,time,asked,position,answer,score"
    assert len(lines) == 1 + 2 * 8_318


@pytest.mark.parametrize("options", [(), ("--to", "csv", "--question", QUESTION)])
def test_a_question_belongs_to_a_page(run: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    answer = call("export", run, *options, "--out", tmp_path / "out")
    assert "--question is what a page answers" in complaint_of(answer)
