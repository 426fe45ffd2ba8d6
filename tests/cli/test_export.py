"""`targcn export`."""

from pathlib import Path

import pytest

from command_line import call, complaint_of
from oracle import World
from targcn import fit, save_run

FACTS = [(day % 3, 0, (day + 1) % 3, day) for day in range(20)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "copy"
    dataset = World(3, 1, FACTS, cuts=(18, 19)).dataset
    save_run(fit(dataset, "decayed-copy", scale=2), folder)
    return folder


def test_one_file_is_written(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    answer = call("export", run, "--question", "e0 | r0 | ? | 1970-01-04", "--out", out)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"wrote {out}\n", "")
    assert "<title>e0 — r0 — ? — 1970-01-04</title>" in out.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    again = call("export", run, "--question", "e0 | r0 | ? | 1970-01-04", "--out", out)
    assert "already exists" in complaint_of(again)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("e0 | r0 | ?", "is not a fact; write 'SUBJECT | RELATION | OBJECT | TIME'"),
        ("e0 | r0 | ? | ?", "leave one place open"),
        ("e9 | r0 | ? | 1970-01-04", "'e9' is not in this graph"),
    ],
)
def test_what_cannot_be_asked(run: Path, tmp_path: Path, question: str, sentence: str) -> None:
    out = tmp_path / "page.html"
    assert sentence in complaint_of(call("export", run, "--question", question, "--out", out))
    assert not out.exists()


def test_predictions_are_written_for_other_programs(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = call("export", run, "--to", "csv", "--top", 2, "--out", out)
    assert (answer.returncode, answer.stdout) == (0, f"wrote {out}\n")
    lines = (out / "predictions.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "subject,relation,object,time,asked,position,answer,score"
    assert len(lines) == 1 + 2 * 2


@pytest.mark.parametrize("options", [(), ("--to", "csv", "--question", "e0 | r0 | ? | 1970")])
def test_a_question_belongs_to_a_page(run: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    answer = call("export", run, *options, "--out", tmp_path / "out")
    assert "--question is what a page answers" in complaint_of(answer)
