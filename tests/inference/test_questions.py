from typing import Any

import polars as pl
import pytest
import torch

from oracle import World
from targcn.errors import InputError
from targcn.inference.questions import (
    OPEN_ID,
    Question,
    as_written,
    encode,
    list_questions,
)

DATASET = World(3, 2, [(0, 0, 1, 0), (2, 1, 1, 4)]).dataset
FACT = ("e2", "r1", "e1", "1970-01-05")
IDS = (2, 1, 1, 4)


@pytest.mark.parametrize("missing", [None, "", "?"])
@pytest.mark.parametrize(
    ("place", "asked"), list(enumerate(["subject", "relation", "object", "time", "fact"]))
)
def test_what_is_open_is_asked_for(missing: str | None, place: int, asked: Any) -> None:
    words = [missing if number == place else word for number, word in enumerate(FACT)]
    question = Question(*words)  # type: ignore[arg-type]
    assert question.asked == asked
    found = encode([Question("e0", "r0", None, 1970), question], DATASET)
    row = found.facts[asked][-1:]
    expected = [OPEN_ID if number == place else one for number, one in enumerate(IDS)]
    assert [column.item() for column in row.tensors()] == expected
    assert found.numbers[asked][-1] == 2
    assert found.facts_of(torch.tensor([2]))[:, 0].tolist() == expected
    written = as_written(question, DATASET)
    named = [written.subject, written.relation, written.object, written.time]
    assert named == ["?" if number == place else word for number, word in enumerate(FACT)]


WRONG = [
    ((None, "r0", None, "1970-01-05"), "leave one place open, as \\?, not subject and object"),
    (("e0", "r0", "?", "?"), "leave one place open, as \\?, not object and time"),
    (("x0", "r0", None, "1970-01-05"), "entity 'x0' is not in this graph"),
    ((None, "r0", "x1", "1970-01-05"), "entity 'x1' is not in this graph"),
    (("e0", "x1", None, "1970-01-05"), "relation 'x1' is not in this graph"),
    (("e0", "r0", None, "soon"), "'soon' is not a date"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_question_that_makes_no_sense_is_refused(words: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        encode([Question(*words)], DATASET)
    fine = Question("e0", "r0", None, "1970-01-05")
    with pytest.raises(InputError, match=f"^question 2: {message}"):
        encode([fine, Question(*words)], DATASET)


def test_names_that_may_have_been_meant_come_with_the_error() -> None:
    with pytest.raises(InputError, match="did you mean") as caught:
        encode([Question("ee0", "r0", None, "1970-01-05")], DATASET)
    assert "e0" in caught.value.suggestions


def test_questions_that_make_no_sense_are_skipped_with_the_reason() -> None:
    questions = [Question(*words) for words, _ in WRONG] + [Question(*FACT)]
    found = encode(questions, DATASET, "skip")
    assert list(found.errors) == [1, 2, 3, 4, 5, 6]
    assert found.errors[6].startswith("'soon' is not a date")
    assert {asked: numbers.tolist() for asked, numbers in found.numbers.items()} == {"fact": [7]}


def test_questions_that_ask_for_the_same_are_in_the_order_of_their_times() -> None:
    days = ["1970-01-05", "1970-01-02", "1970-01-05", "1970-01-01"]
    found = encode([Question("e0", "r0", None, day) for day in days], DATASET)
    assert found.numbers["object"].tolist() == [4, 2, 1, 3]
    assert found.facts["object"].times.tolist() == [0, 1, 4, 4]


def test_questions_come_as_they_are_in_lists_or_in_tables() -> None:
    words = [("e0", "r0", None, "1970-01-05"), (None, "r1", "e1", "1970-01-05")]
    expected = [Question(*one) for one in words]
    frame = pl.DataFrame(words, ["subject", "relation", "object", "time"], orient="row")
    for given in (expected, words, tuple(words), [list(one) for one in words], frame):
        assert list_questions(given) == expected
    assert list_questions(frame.to_pandas()) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("e0", "r0", None, "1970-01-05"), "question 1 is 'e0'; give \\(subject, relation, object"),
        ([("e0", "r0", None)], "question 1 is \\('e0', 'r0', None\\); give \\(subject"),
        (7, "an object of type int cannot be read; give"),
    ],
)
def test_what_is_no_list_of_questions(given: object, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        list_questions(given)
