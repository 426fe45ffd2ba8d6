"""Names and their ids, both ways."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targcn.errors import InputError
from targcn.facts.vocabulary import Vocabulary, sort_names, suggest

NAMES = ["Angela Merkel", "Angola", "China", "Zoë"]
ENTITIES = Vocabulary("entity", NAMES)


def test_names_are_a_sequence():
    assert [ENTITIES.id_of(name) for name in NAMES] == [0, 1, 2, 3]
    assert (ENTITIES[0], ENTITIES[-1], ENTITIES[:2]) == (NAMES[0], NAMES[-1], NAMES[:2])
    assert (len(ENTITIES), list(ENTITIES)) == (4, NAMES)
    assert Vocabulary("entity", tuple(NAMES)) == ENTITIES
    assert Vocabulary("entity", NAMES[:3]) != ENTITIES
    assert NAMES[0] in ENTITIES
    assert "nobody" not in ENTITIES
    assert repr(Vocabulary("entity", [f"name {number}" for number in range(5000)])) == (
        "5,000 names of kind entity: 'name 0', 'name 1', 'name 2', 'name 3', 'name 4', …"
    )


@pytest.mark.parametrize("name", ["Zoë", "Zoe\u0308", " Zoë", "\u00a0Zoe\u0308\n"])
def test_a_name_is_found_in_any_unicode_form_and_with_blanks_around_it(name):
    assert ENTITIES.id_of(name) == 3


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["b", "a", "C"], ["C", "a", "b"]),
        (["10", "9", "007"], ["007", "9", "10"]),
        (["0", "00", "1"], ["0", "00", "1"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["10", "-9"], ["-9", "10"]),
        (["2" * 5000, "3"], ["3", "2" * 5000]),
        (["²", "1"], ["1", "²"]),
        ([], []),
    ],
)
def test_names_are_sorted_by_code_point_or_value(names, expected):
    assert sort_names(names) == expected


@given(st.lists(st.one_of(st.text(), st.integers(0).map(str)), unique=True), st.randoms())
def test_the_order_of_the_names_changes_nothing(names, shuffler):
    shuffled = list(names)
    shuffler.shuffle(shuffled)
    assert sort_names(shuffled) == sort_names(names)


@given(st.lists(st.integers(0), unique=True))
def test_whole_numbers_are_sorted_by_value(numbers):
    assert sort_names(map(str, numbers)) == [str(number) for number in sorted(numbers)]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Angela Merkl", "; did you mean 'Angela Merkel'?"),
        ("angola", "; did you mean 'Angola'?"),
        ("Merkel", "; did you mean 'Angela Merkel'?"),
        ("Zoe", "; did you mean 'Zoë'?"),
        ("", ""),
        ("x" * 200_000, ""),
    ],
)
def test_an_unknown_name_is_explained(name, hint):
    with pytest.raises(InputError) as caught:
        ENTITIES.id_of(name)
    assert str(caught.value) == f"entity {name!r} is not in this graph{hint}"


@pytest.mark.parametrize(
    ("name", "known", "best"),
    [
        ("visit", ["revisits", "visits", "visit", "vista"], "visit"),
        ("china", ["China", "CHINA"], "China"),
        ("jeter", ["Peter", "Jester", "Jetera", "Meter", "Derek Jeter"], "Derek Jeter"),
        ("Koln", ["Kolin", "Köln"], "Köln"),
    ],
)
def test_the_best_suggestion_comes_first(name, known, best):
    suggested = suggest(name, known, limit=2)
    assert suggested[0] == best
    assert len(suggested) <= 2


def test_a_suggestion_among_many_names():
    rng = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    many = sorted(
        " ".join("".join(rng.choices(letters, k=7)).title() for _ in range(2))
        for _ in range(100_000)
    )
    assert suggest("angela merkl", [*many, "Angela Merkel"])[0] == "Angela Merkel"


@pytest.mark.parametrize("name", ["Zoë", "zoe", " ZOË", "zoe\u0308"])
def test_a_name_is_found_whatever_its_case_and_accents(name):
    assert ENTITIES.find(name) == 3


def test_a_name_that_could_be_several_is_refused():
    cities = Vocabulary("entity", ["Koln", "Köln", "kiel"])
    assert cities.find("Köln") == 1
    with pytest.raises(InputError, match="'KOLN' could be 'Koln' or 'Köln'; write") as unclear:
        cities.find("KOLN")
    assert unclear.value.suggestions == ("Koln", "Köln")
    with pytest.raises(InputError, match="'Kielce' is not in this graph; did you") as unknown:
        cities.find("Kielce")
    assert unknown.value.suggestions == ("kiel",)


def test_what_was_read_must_be_written_as_listed():
    with pytest.raises(InputError, match="did you mean 'Zoë'"):
        ENTITIES.id_of("zoe")
