"""Several processes answer a table of questions as one does, to the byte."""

from pathlib import Path

import polars as pl
import pytest

from oracle import World
from process_groups import Start
from targcn.training.fit import fit

pytestmark = pytest.mark.slow

FACTS = [(n % 6, n % 2, n * n % 7, n * 5 % 8) for n in range(60)]
WORLD = World(7, 2, FACTS, cuts=(40, 50))
DAYS = [WORLD.dataset.timeline.label(tick) for tick in range(8)]
# Few questions at once, so that there are many batches.
FEW = "import targcn.inference.predictor as asking; asking.MOST_QUESTIONS_AT_ONCE = 4\n"
SKIPPED = "6 of 52 questions were skipped; the column error says why"


@pytest.fixture(scope="module", params=["evidence", "decayed-copy"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose scores have many digits, and one whose scores are often equal."""
    folder = tmp_path_factory.mktemp("runs") / request.param
    small = {"epochs": 2, "dim": 4, "prior_dim": 4, "batch_size": 16, "device": "cpu"}
    fit(WORLD.dataset, request.param, out=folder, **(small if request.param == "evidence" else {}))
    return folder


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "seen"
    fit(WORLD.dataset, "seen", out=folder)
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """46 questions of every kind, and 6 that cannot be asked."""
    places = ("subject", "relation", "object", "time", "fact")
    rows = []
    for number, (s, r, o, t) in enumerate(FACTS[:52]):
        words = [f"e{s}", f"r{r}", f"e{o}", DAYS[t]]
        if number % 8 == 5:
            words[0] = "nobody"
            words[2] = "?"
        elif (asked := places[number % 5]) != "fact":
            words[places.index(asked)] = "?"
        rows.append(dict(zip(places, words, strict=False)))
    path = tmp_path_factory.mktemp("questions") / "questions.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def ask(start: Start, size: int, run: Path, *arguments: object, before: str = FEW) -> list[str]:
    """What the main process prints and complains; the others say nothing, and all go well."""
    codes, printed, complaints = start(size, "predict", run, *arguments, before=before)
    assert codes == [0] * size, complaints
    assert printed[1:] + complaints[1:] == [""] * (2 * size - 2)
    return [printed[0], complaints[0]]


@pytest.mark.parametrize("options", [(), ("--hide-known", "--top=3")])
def test_several_processes_answer_like_one(
    options: tuple[str, ...], start: Start, run: Path, table: Path
) -> None:
    given = (f"--queries={table}", "--json", *options)
    alone = ask(start, 1, run, *given)
    assert SKIPPED in alone[1]
    for size in (2, 3):
        assert ask(start, size, run, *given) == alone


def test_the_main_process_writes_the_same_bytes(
    start: Start, run: Path, table: Path, tmp_path: Path
) -> None:
    written = []
    for size in (1, 3):
        out = tmp_path / f"{size}.parquet"
        printed, _ = ask(start, size, run, f"--queries={table}", f"--out={out}")
        assert printed.startswith(f"{out}: ")
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_there_may_be_more_processes_than_questions(
    start: Start, seen: Path, table: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.csv"
    few.write_text("\n".join(table.read_text().splitlines()[:3]) + "\n")
    given = (f"--queries={few}", "--json")
    assert ask(start, 3, seen, *given) == ask(start, 1, seen, *given)


def test_what_if_is_shared_too(start: Start, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    rows = [f"e{n % 6},r{n % 2},?,{DAYS[n % 8]}" for n in range(20)]
    path.write_text(
        "\n".join(["subject,relation,object,time", *rows, f"nobody,r0,?,{DAYS[3]}"]) + "\n"
    )
    given = (f"--queries={path}", f"--with=e0 | r0 | e3 | {DAYS[2]}", "--top=2", "--json")
    alone = ask(start, 1, run, *given)
    assert "rank_after" in alone[0]
    assert ask(start, 3, run, *given) == alone


def test_processes_agree_on_how_many_questions_are_asked_at_once(
    start: Start, seen: Path, table: Path
) -> None:
    """One has less memory than the others, and nothing is asked twice or not at all."""
    given = (f"--queries={table}", "--json")
    uneven = FEW.replace("= 4", "= 6 - 2 * (rank == 1)")
    assert ask(start, 3, seen, *given, before=uneven) == ask(start, 1, seen, *given)


def test_a_question_that_stops_one_stops_all(
    start: Start, seen: Path, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "answers.csv"
    given = ("predict", seen, f"--queries={table}", "--on-error=stop", f"--out={out}")
    for size in (1, 2, 3):
        codes, printed, complaints = start(size, *given)
        assert (codes, printed) == ([2] * size, [""] * size)
        assert complaints[0].startswith("targcn: question 6: ")
        assert complaints[1:] == [""] * (size - 1)
    assert not out.exists()


FAILING = """
import targcn.cli.predict, targcn.inference.predictor
from targcn.errors import InputError

def failing(*_):
    raise InputError("no numbers in here")

if rank == 1:
    {} = failing
"""


@pytest.mark.parametrize(
    "what", ["targcn.inference.predictor.Predictor._answer", "targcn.cli.predict.load_folder"]
)
def test_what_one_cannot_do_ends_all(what: str, start: Start, seen: Path, table: Path) -> None:
    given = ("predict", seen, f"--queries={table}")
    codes, printed, complaints = start(3, *given, before=FEW + FAILING.format(what))
    assert (codes, printed) == ([2] * 3, [""] * 3)
    assert complaints == ["targcn: no numbers in here\n", "", ""]


def test_one_question_is_answered_by_the_main_process(start: Start, seen: Path) -> None:
    question = ("e1", "r1", "?", DAYS[3])
    assert ask(start, 2, seen, *question) == ask(start, 1, seen, *question)


def test_standard_input_cannot_be_shared(start: Start, seen: Path) -> None:
    codes, _, complaints = start(2, "predict", seen, "--queries", "-")
    assert codes == [2, 2]
    assert complaints[0].startswith("targcn: several processes cannot share standard input")
