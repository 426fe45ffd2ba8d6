"""Questions and answers through the functions behind `targcn predict` and `explain`."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from targcn import InputError, fit, open_dataset, save_run
from targcn.cli.ask import explain_answer, predict_answers
from targcn.terminal import show_json

ANIMAL, MARKED = "team:cat:x", "[red]team[/red]"
QUESTION = (ANIMAL, "likes", "?", "2005")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [(ANIMAL, "likes", MARKED, year) for year in range(2000, 2010)]
    facts = pl.DataFrame(rows, schema=["subject", "relation", "object", "year"], orient="row")
    folder = tmp_path_factory.mktemp("runs") / "seen"
    save_run(fit(open_dataset(facts), "seen"), folder)
    return folder


def test_names_are_shown_as_they_are(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predict_answers(run, *QUESTION)
    question, _, *answers = capsys.readouterr().out.splitlines()
    assert question.startswith(f"{ANIMAL} — likes — ?, 2005")
    assert [answer.split()[1] for answer in answers] == [MARKED, ANIMAL]


def test_answers_to_one_question_are_written_like_those_to_a_table(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, table, many = (tmp_path / name for name in ("one.csv", "questions.csv", "many.csv"))
    predict_answers(run, *QUESTION, out=one)
    assert MARKED in capsys.readouterr().out
    table.write_text("subject,relation,object,time\n" + ",".join(QUESTION) + "\n")
    predict_answers(run, queries=table, out=many)
    assert one.read_text() == many.read_text()
    assert pl.read_csv(one)["answer"].to_list() == [MARKED, ANIMAL]


@pytest.mark.parametrize(
    ("question", "options", "unwanted"),
    [
        ((), {"json": True}, "--json"),
        ((), {"explain": True}, "--explain"),
        (QUESTION, {"json": True}, "a question in words and --json"),
    ],
)
def test_what_a_table_cannot_have_beside_it_is_refused(
    question: tuple[str, ...], options: dict[str, Any], unwanted: str
) -> None:
    with pytest.raises(InputError, match=f"--queries answers a table; leave out {unwanted}$"):
        predict_answers(Path("run"), *question, queries=Path("table.csv"), **options)


def test_a_wrong_ending_is_refused_before_any_work() -> None:
    nowhere = Path("no-such-run")
    with pytest.raises(InputError, match=r"a\.txt should end in \.csv, \.jsonl or \.parquet"):
        predict_answers(nowhere, *QUESTION, out=Path("a.txt"))
    with pytest.raises(InputError, match=r"a\.txt should end in \.png, \.svg or \.pdf"):
        explain_answer(nowhere, *QUESTION, plot=Path("a.txt"))


def test_json_has_every_letter_wherever_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", errors="replace"))
    show_json({"answer": "Zoë"})
    sys.stdout.flush()
    assert json.loads(written.getvalue()) == {"answer": "Zoë"}
