from typing import Any

import pytest

from oracle import World
from targcn.errors import InputError
from targcn.inference.questions import Question, encode

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
