from typing import Any

import polars as pl
import pytest

from oracle import World
from targcn.errors import InputError
from targcn.inference.questions import Question, encode, list_questions

DATASET = World(3, 2, [(0, 0, 1, 0), (2, 1, 1, 4)]).dataset


@pytest.mark.parametrize("missing", [None, "", "?"])
def test_a_missing_subject_is_asked_for_under_the_reciprocal_relation(missing: str | None) -> None:
    questions = [
        Question("e2", "r1", missing, "1970-01-05"),
        Question(missing, "r1", "e1", "1970-01-05"),
    ]
    queries = encode(questions, DATASET)
    assert [column.tolist() for column in queries.tensors()] == [[2, 1], [1, 3], [4, 4]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("e0", "r0", "e1", "1970-01-05"), "leave exactly one of subject and object open"),
        ((None, "r0", None, "1970-01-05"), "leave exactly one of subject and object open"),
        (("E0", "r0", None, "1970-01-05"), "entity 'E0' is not in this graph; did you mean 'e0'?"),
        ((None, "r0", "E1", "1970-01-05"), "entity 'E1' is not in this graph; did you mean 'e1'?"),
        (("e0", "R1", None, "1970-01-05"), "relation 'R1' is not in this graph; did you mean 'r1'"),
        (("e0", "r0", None, "soon"), "'soon' is not a date"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(words: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        encode([Question(*words)], DATASET)
    fine = Question("e0", "r0", None, "1970-01-05")
    with pytest.raises(InputError, match=f"^question 2: {message}"):
        encode([fine, Question(*words)], DATASET)


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
