"""Facts in words, and what may be left out of a context or put into it."""

import pytest

from oracle import World
from targcn.errors import InputError
from targcn.facts.dataset import OPEN
from targcn.inference.what_if import change_context, parse_fact

WORLD = World(3, 2, [(0, 0, 1, 0), (0, 0, 1, 4), (0, 0, 1, 6), (0, 0, 1, 9), (2, 1, 0, 4)])
HELD = ("e0", "r0", "e1", "1970-01-05")
NEW = ("e1", "r1", "e2", "1970-01-03")


@pytest.mark.parametrize("text", ["a|b|c", "a|b|c|d|e|f", "a|b||2005", "a|b|c||", "", "a b c 2005"])
def test_what_is_no_fact_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a fact; write 'SUBJECT "):
        parse_fact(text)


def test_a_fact_named_twice_counts_once() -> None:
    changed = change_context(WORLD.graph, WORLD.dataset, [HELD, HELD], [NEW, NEW])
    left = [fact for fact in WORLD.facts if fact != (0, 0, 1, 4)]
    expected = World(3, 2, [*left, (1, 1, 2, 2)]).graph
    assert changed.keys.tolist() == expected.keys.tolist()


@pytest.mark.parametrize(
    ("without", "given", "sentence"),
    [
        ([], [], "name a fact to leave out or to add"),
        (
            [("e0", "r0", "e1", "1970-01-06")],
            [],
            "does not hold e0 — r0 — e1, 1970-01-06, so it cannot be left out; it holds it at "
            "1970-01-05, 1970-01-07, 1970-01-10$",
        ),
        ([("e1", "r0", "e0", "1970-01-01")], [], "so it cannot be left out$"),
        ([], [HELD], "the context holds e0 — r0 — e1, 1970-01-05 already; nothing would change"),
        ([], [("e0", "r0", "e1", "1969-12-31")], "is before 1970-01-01, where the data begin"),
        ([], [("e0", "r0", "e11", "1970")], "entity 'e11' is not in this graph; did you mean"),
        ([("e0", "r9", "e1", "1970")], [], "relation 'r9' is not in this graph"),
        ([("e0", "r0", "e1", "then")], [], "'then' is not a date"),
    ],
)
def test_changes_that_change_nothing_are_refused(without, given, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        change_context(WORLD.graph, WORLD.dataset, without, given)


LASTING = World(3, 2, [(0, 0, 1, 2, 6), (0, 0, 1, 5, OPEN), (0, 0, 1, 9, 9), (2, 1, 0, OPEN, 4)])


@pytest.mark.parametrize(
    ("without", "given", "left"),
    [
        # All that hold then, or the one interval that is named.
        ([("e0", "r0", "e1", "1970-01-06")], [], [2, 3]),
        ([("e0", "r0", "e1", "1970-01-06", None)], [], [0, 2, 3]),
        ([("e0", "r0", "e1", "1970-01-03", "1970-01-07")], [], [1, 2, 3]),
        ([("e2", "r1", "e0", None, "1970-01-05"), ("e0", "r0", "e1", "1970-01-03")], [], [1, 2]),
    ],
)
def test_intervals_are_left_out_by_a_time_or_by_both_ends(without, given, left) -> None:
    changed = change_context(LASTING.graph, LASTING.dataset, without, given)
    expected = World(3, 2, [LASTING.facts[place] for place in left]).graph
    assert changed.keys.tolist() == expected.keys.tolist()
    assert changed.ends.tolist() == expected.ends.tolist()


def test_intervals_are_added() -> None:
    new = [("e1", "r1", "e2", "1970-01-03"), ("e1", "r1", "e2", None, "1970-01-02")]
    changed = change_context(LASTING.graph, LASTING.dataset, [], new)
    expected = World(3, 2, [*LASTING.facts, (1, 1, 2, 2, 2), (1, 1, 2, OPEN, 1)]).graph
    assert changed.keys.tolist() == expected.keys.tolist()
    assert changed.ends.tolist() == expected.ends.tolist()


@pytest.mark.parametrize(
    ("world", "without", "given", "sentence"),
    [
        (
            LASTING,
            [("e0", "r0", "e1", "1970-01-02")],
            [],
            "so it cannot be left out; it holds it at 1970-01-03 – 1970-01-07, since 1970-01-06, "
            "1970-01-10$",
        ),
        (LASTING, [], [("e0", "r0", "e1", "1970-01-04")], "already; nothing would change"),
        (LASTING, [], [("e0", "r0", "e1", "1970-01-04", "1970-01-02")], "ends before it starts"),
        (WORLD, [], [("e0", "r0", "e1", "1970-01-04", None)], "have one time, not two"),
        (LASTING, [], [("e1", "r0", "e1", "1969-12-31", None)], "where the data begin"),
    ],
)
def test_intervals_that_change_nothing_or_are_none_are_refused(
    world, without, given, sentence
) -> None:
    with pytest.raises(InputError, match=sentence):
        change_context(world.graph, world.dataset, without, given)
