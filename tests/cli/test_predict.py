"""`targcn predict`."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from command_line import call, complaint_of, output_of, start
from oracle import World
from targcn import Dataset, fit, load_run, open_dataset, save_run
from targcn.runs.judge import with_judge
from targcn.truth import training

ANIMAL, MARKED = "processes:cat:x", "[red]team[/red]"
QUESTION = (ANIMAL, "likes", "?", "2005")
BESIDE = "serves beside"


def dataset(rows: list[tuple[str, str, str, int]]) -> Dataset:
    schema = ["subject", "relation", "object", "year"]
    return open_dataset(pl.DataFrame(rows, schema=schema, orient="row"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = dataset([(ANIMAL, "likes", MARKED, year) for year in range(2000, 2010)])
    folder = tmp_path_factory.mktemp("runs") / "seen"
    save_run(fit(facts, "seen"), folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    senators = ("Ted Kennedy", "John Kerry", "Paul Tsongas")
    facts = [
        (senators[year % 3], relation, senators[(year + step) % 3], year)
        for year in range(1990, 2013)
        for step, relation in ((1, BESIDE), (2, "succeeded"))
    ]
    folder = tmp_path_factory.mktemp("runs") / "targcn"
    small: dict[str, Any] = {"dim": 8, "neighbors": 5, "window": 16, "epochs": 1, "device": "cpu"}
    save_run(fit(dataset(facts), "targcn", **small), folder)
    return folder


@pytest.mark.slow
def test_the_program_shows_answers_and_reasons(trained: Path) -> None:
    question = ("Ted Kennedy", BESIDE, "?", "2009")
    answer = start("predict", trained, *question, "--top", 3, "--explain")
    assert (answer.returncode, answer.stderr) == (0, "")
    title, labels, *_ = answer.stdout.splitlines()
    assert title == "Ted Kennedy — serves beside — ?, 2009 (context all)"
    assert labels.split() == ["rank", "answer", "probability", "known"]
    assert "(time-aware filter, mean rank on ties), from 5 facts of the context" in answer.stdout


def test_answers_as_json(trained: Path) -> None:
    question = ("?", BESIDE, "John Kerry", "1999")
    answer = call("predict", trained, *question, "--top", 2, "--explain", "--json")
    content = json.loads(answer.stdout)
    assert (content["context"], content["num_entities"]) == ("all", 3)
    best, second = content["answers"]
    assert (best["rank"], second["rank"]) == (1, 2)
    assert set(best) == {"asked", "rank", "tied", "answer", "score", "probability", "true", "known"}
    # Nothing is judged where no judge is at hand.
    assert best["true"] is None
    assert content["explanation"]["asked"] == "subject"
    assert content["explanation"]["subject"] == best["answer"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_table_of_questions(trained: Path, tmp_path: Path, ending: str) -> None:
    questions, out = tmp_path / "questions.csv", tmp_path / f"answers.{ending}"
    questions.write_text(
        "subject,relation,object,time\n"
        "Ted Kennedy,serves beside,?,2009\n"
        ",succeeded,John Kerry,2013\n"
    )
    command = ("predict", trained, "--queries", questions, "--out", out, "--top", 2)
    answer = call(*command)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.endswith("4 answers to 2 questions, context all\n")
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    assert read(out)["question"].to_list() == [1, 1, 2, 2]
    assert "already exists" in complaint_of(call(*command))


def test_half_a_question_cannot_be_asked(trained: Path) -> None:
    assert "four parts" in complaint_of(call("predict", trained, "Ted Kennedy", BESIDE))


def test_ties_and_answers_that_rest_on_nothing(tmp_path: Path) -> None:
    facts = [(0, 0, 1, 0), (0, 0, 2, 4), (0, 0, 3, 4), (3, 0, 1, 4), (0, 0, 4, 9)]
    save_run(fit(World(5, 1, facts, cuts=(4, 4)).dataset, "decayed-copy"), tmp_path / "run")
    # Entity 4 has no fact in the context.
    tied, alone = (
        call(
            "predict", tmp_path / "run", name, "r0", "?", "1970-01-05", "--context", "train"
        ).stdout.splitlines()[2:]
        for name in ("e0", "e4")
    )
    assert [line[:4] for line in tied] == ["1 = ", "1 = ", "3   ", "4 = ", "4 = "]
    assert [line[:4] for line in alone[:-1]] == ["1 = "] * 5
    assert alone[-1] == (
        "Every entity has the same score: nothing in the context speaks for any answer."
    )


def test_names_are_shown_as_they_are(seen: Path) -> None:
    question, _, *answers = output_of("predict", seen, *QUESTION).splitlines()
    assert question.startswith(f"{ANIMAL} — likes — ?, 2005")
    assert [answer.split()[1] for answer in answers] == [MARKED, ANIMAL]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it does not matter what a judge says, it learns little."""
    monkeypatch.setattr(training, "LEAST_STEPS", 5)


def test_what_if_shows_before_and_after(trained: Path) -> None:
    fact = "Ted Kennedy | succeeded | John Kerry | 2016"
    question = ("Ted Kennedy", BESIDE, "?", "2009")
    shown = call("predict", trained, *question, "--with", fact)
    title, labels, *rows = shown.stdout.splitlines()
    assert title == "Ted Kennedy — serves beside — ?, 2009 (context all)"
    words = "rank before rank after answer probability before probability after change known"
    assert labels.split() == words.split()
    assert len(rows) == 3
    content = json.loads(call("predict", trained, *question, "--with", fact, "--json").stdout)
    assert (content["without"], content["with"]) == ([], [fact])
    assert {row["rank_after"] for row in content["answers"]} == {1, 2, 3}


def test_answers_to_one_question_are_written_like_those_to_a_table(tmp_path: Path) -> None:
    facts = dataset([(ANIMAL, "likes", MARKED, year) for year in range(2000, 2010)])
    save_run(fit(facts, "decayed-copy"), tmp_path / "run")
    held = next(facts.named("train", n) for n in range(8))
    what_if = ("--without", " | ".join(held), "--with", f"{MARKED}|likes|{ANIMAL}|2004")
    table = tmp_path / "questions.csv"
    table.write_text("subject,relation,object,time\n" + ",".join(QUESTION) + "\n")
    for number, change in enumerate(((), what_if)):
        one, many = tmp_path / f"one-{number}.csv", tmp_path / f"many-{number}.csv"
        output_of("predict", tmp_path / "run", *QUESTION, *change, "--out", one)
        output_of("predict", tmp_path / "run", "--queries", table, *change, "--out", many)
        assert one.read_text() == many.read_text()
        best = pl.read_csv(one).row(0, named=True)
        assert best["answer"] == MARKED
    assert best["score_after"] != best["score_before"]


def test_what_if_is_not_explained(seen: Path) -> None:
    changed = ("--with", f"{MARKED} | likes | {ANIMAL} | 2004", "--explain")
    refused = complaint_of(call("predict", seen, *QUESTION, *changed))
    assert "leave out --with and --without" in refused


def test_newer_facts_are_asked_for_and_named(trained: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.csv"
    more.write_text("subject,relation,object,time\nEd Markey,succeeded,John Kerry,2013\n")
    question = ("Ed Markey", "succeeded", "?", "2013")
    assert "did you mean" in complaint_of(call("predict", trained, "Ted Kenedy", *question[1:]))
    shown = call("predict", trained, *question, "--facts", more)
    assert shown.returncode == 0, shown.stderr
    title, *_, note = shown.stdout.splitlines()
    assert title.endswith("2013 (context all with 1 added fact)")
    assert note.startswith("entities new to the model have no vector of their own")
    assert note.endswith(": Ed Markey")
    assert "facts of more.csv: 1 added to the context" in shown.stderr
    content = json.loads(call("predict", trained, *question, "--facts", more, "--json").stdout)
    assert (content["num_entities"], content["new_entities"]) == (4, ["Ed Markey"])
    assert content["context"] == "all with 1 added fact"
    more.write_text("subject,relation,object,time\nEd Markey,succeeds,John Kerry,2013\n")
    refused = complaint_of(call("predict", trained, *question, "--facts", more))
    assert "more.csv: the relation 'succeeds' is new (did you mean 'succeeded'?)" in refused


@pytest.mark.usefixtures("quick")
def test_is_it_so(trained: Path, seen: Path) -> None:
    fact = ("Ted Kennedy", BESIDE, "John Kerry", "1992")
    shown = call("predict", trained, *fact).stdout
    verdict, *rest = shown.splitlines()
    assert verdict.startswith("Known to be true; if it were hidden, it would be true with ")
    signs = [line for line in rest if line.startswith("  ") and line.endswith(")")]
    title, labels, *rows = rest[len(signs) :]
    assert title == "Ted Kennedy — serves beside — John Kerry, 1992 (context all)"
    assert labels.split() == ["asked", "rank", "answer", "probability", "true", "with", "known"]
    assert [row.split()[0] for row in rows[:2]] == ["object", "subject"]
    assert "facts of the context all" in shown
    content = json.loads(call("predict", trained, *fact, "--json").stdout)
    assert [answer["answer"] for answer in content["answers"]] == ["John Kerry", "Ted Kennedy"]
    judged = content["verdict"]
    assert judged.keys() == {"probability", "is_known", "presumed", "signs", "times"}
    assert [sign["text"] for sign in judged["signs"]] == [
        line.strip().rpartition(" (× ")[0] for line in signs
    ]
    own = content["explanation"]
    assert own["probability"] == pytest.approx(content["answers"][0]["probability"])
    # A rule without reasons is asked all the same.
    answer = call("predict", seen, ANIMAL, "likes", MARKED, "2005")
    assert answer.returncode == 0
    assert f"{ANIMAL} — likes — {MARKED}, 2005 (context all)" in answer.stdout.splitlines()


def test_when(trained: Path) -> None:
    question = ("Ted Kennedy", BESIDE, "John Kerry", "?")
    shown = call("predict", trained, *question, "--top", 2).stdout
    title, _, *rows = shown.splitlines()
    assert title == "Ted Kennedy — serves beside — John Kerry, ? (context all)"
    assert [row.split()[0] for row in rows[:2]] == ["1", "2"]
    answers = json.loads(call("predict", trained, *question, "--json").stdout)["answers"]
    assert len(answers) == 10


TABLE = (
    "subject,relation,object,time\nTed Kennedy,serves beside,?,2009\nNobody,succeeded,?,2009\n"
    "Ted Kennedy,,John Kerry,1999\nTed Kennedy,serves beside,John Kerry,1999\n"
)


@pytest.mark.usefixtures("quick")
def test_what_cannot_be_asked_is_skipped_or_stops(trained: Path, tmp_path: Path) -> None:
    questions, out = tmp_path / "questions.csv", tmp_path / "answers.csv"
    questions.write_text(TABLE)
    answer = call("predict", trained, "--queries", questions, "--top", 1, "--out", out)
    assert answer.stderr == ("targcn: 1 of 4 questions were skipped; the column error says why\n")
    assert "4 answers to 4 questions" in answer.stdout
    written = pl.read_csv(out)
    assert written["question"].to_list() == [1, 2, 3, 4, 4]
    assert written["subject"].to_list()[1:3] == ["Nobody", "Ted Kennedy"]
    assert written["asked"].to_list() == ["object", None, "relation", "object", "subject"]
    assert written["error"][1].startswith("entity 'Nobody' is not in this graph")
    stopped = call("predict", trained, "--queries", questions, "--on-error", "stop")
    assert "question 2: entity 'Nobody' is not in this graph" in complaint_of(stopped)


@pytest.mark.usefixtures("quick")
def test_a_forecast_is_announced(trained: Path, tmp_path: Path) -> None:
    question = ("Ted Kennedy", BESIDE, "?")
    sentence = "A forecast: 2015 is 3 years after the last known fact (2012)."
    assert sentence in call("predict", trained, *question, "2015").stdout
    content = json.loads(call("predict", trained, *question, "2015", "--json").stdout)
    assert content["notes"] == [sentence]
    assert "forecast" not in call("predict", trained, *question, "2012").stdout
    questions = tmp_path / "questions.csv"
    questions.write_text(TABLE.replace("1999", "2013"))
    said = call("predict", trained, "--queries", questions).stderr
    assert "2 questions are about times after the last known fact (2012): forecasts." in said


def test_when_over_intervals(tmp_path: Path) -> None:
    # The relation usually holds for three days.
    spans = [(0, 2), (1, 3), (5, 7), (9, 20)]
    facts = [(n, 0, n + 1, *span) for n, span in enumerate(spans)] + [(5, 0, 6, 0, 9)]
    save_run(
        fit(World(7, 1, facts, cuts=(5, 5)).dataset, "decayed-copy", scale=1), tmp_path / "run"
    )
    question = ("e1", "r0", "e2", "?")
    shown = call("predict", tmp_path / "run", *question).stdout.splitlines()[-1]
    assert shown.startswith("Most likely 1970-01-02 – 1970-01-04: the best time, and those beside ")
    assert "within 3 days, which is usual for this relation" in shown
    interval = json.loads(call("predict", tmp_path / "run", *question, "--json").stdout)["interval"]
    assert interval == {
        "first": "1970-01-02",
        "last": "1970-01-04",
        "usual_length": 3,
        "unit": "day",
    }


# Each of three couples is married for a dozen years, but for one year of one of them.
COUPLES = [("Ann", "Bob"), ("Cy", "Di"), ("Ed", "Flo")]
MARRIED = [
    (one, "is married to", other, year)
    for one, other in COUPLES
    for year in range(2000, 2012)
    if (one, year) != ("Cy", 2004)
]


@pytest.fixture(scope="module")
def couples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and a run beside it that keeps a judge."""
    folder = tmp_path_factory.mktemp("couples")
    save_run(fit(dataset(MARRIED), "seen"), folder / "run")
    with_judge(load_run(folder / "run"), "facts", folder / "run")
    rows = (f"{','.join(map(str, fact))}\n" for fact in MARRIED)
    (folder / "couples.csv").write_text("subject,relation,object,year\n" + "".join(rows))
    return folder


def test_what_is_missing_is_shown_and_written(couples: Path, tmp_path: Path) -> None:
    for source in (couples / "run", couples / "couples.csv"):
        out = tmp_path / f"{source.stem}.csv"
        asked = ("missing", source, "--time", 2004, "--relation", "is married to", "--top", 3)
        gaps = ("--gaps", "facts") if source.suffix else ()
        shown = call(*asked, *gaps, "--out", out)
        assert shown.returncode == 0, shown.stderr
        title, labels, first, *_ = shown.stdout.splitlines()
        assert title.endswith(": probably true and not known, context all")
        ends = [] if source.suffix else ["p(o", "|", "…)", "p(s", "|", "…)"]
        words = ["rank", "subject", "relation", "object", "time", "true", "with", *ends]
        assert labels.split()[: len(words)] == words
        assert first.split()[:6] == ["1", "Cy", "is", "married", "to", "Di"]
        assert "\ntrue with: the probability of being true, if these shares" in shown.stdout
        written = pl.read_csv(out)
        assert written["rank"].to_list() == list(range(1, written.height + 1))
    rows = json.loads(output_of("missing", couples / "run", "--at-least", 0.01, "--json"))
    assert (rows[0]["subject"], rows[0]["time"], rows[0]["times"]) == ("Cy", "2004", 1)
    nothing = call("missing", couples / "run", "--entity", "Ann", "--at-least", 0.9).stdout
    assert "no fact that is not known is true with 0.9 or more" in nothing


def test_a_kept_judge_is_asked_beside_the_model(couples: Path) -> None:
    question = ("Cy", "is married to", "?", "2004")
    shown = output_of("predict", couples / "run", *question)
    assert shown.splitlines()[1].split() == ["rank", "answer", "score", "true", "with", "known"]
    assert "more answers than those known" not in shown
    assert re.search(r"^About \d\.\d answers are expected then; the probability of", shown, re.M)
    shown = output_of("predict", couples / "run", *question[:3], "2003")
    assert "No more answers than those known then are expected" in shown
    newer = output_of("predict", couples / "run", *question[:3], "2050")
    assert ": the last known fact of Cy is of 2011; the probability" in newer


def test_what_cannot_be_asked_is_refused(couples: Path, tmp_path: Path) -> None:
    for option, word, sentence in (
        ("--time", "soon", "'soon' is not a date"),
        ("--top", 0, "top is 0; at least 1 was expected"),
        ("--gaps", "holes", 'Choose from: "mixed", "facts", "blocks"'),
        ("--out", tmp_path / "x.txt", "should end in .csv, .json or .md"),
    ):
        for source in (couples / "run", couples / "couples.csv"):
            assert sentence in complaint_of(call("missing", source, option, word))
    table = couples / "couples.csv"
    refused = complaint_of(call("missing", table, "--facts", table))
    assert "--facts joins the context of a run; put them into the data set" in refused
    assert "no data set, folder or file" in complaint_of(call("missing", tmp_path / "gone"))
    empty = tmp_path / "empty.csv"
    empty.write_text("subject,relation,object,year\n")
    assert "has columns but no facts" in complaint_of(call("missing", empty))
