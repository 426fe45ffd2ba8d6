"""The facts of an entity."""

from dataclasses import replace

import pytest

from oracle import World
from small_server import FACTS
from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.serve.entity_facts import facts_of

DATASET: Dataset = World(9, 2, FACTS, cuts=(100, 130)).dataset


def slowly(entity: int, first: int = 0, last: int = 99) -> list[tuple[int, str, str, str]]:
    """Tick, relation, the other entity and the direction, of every fact of an entity."""
    found = []
    for subject, relation, object_, time in FACTS:
        if first <= time <= last and entity in (subject, object_):
            out = subject == entity
            other = object_ if out else subject
            found.append((time, f"r{relation}", f"e{other}", "out" if out else "in"))
    return sorted(found)


@pytest.mark.parametrize("entity", range(9))
def test_all_facts_are_found(entity: int) -> None:
    found = facts_of(DATASET, DATASET.facts, f"e{entity}")
    facts = found.facts
    rows = [*zip(facts.tick, facts.relation, facts.other, facts.direction, strict=True)]
    expected = slowly(entity)
    assert sorted(rows) == expected
    assert facts.tick == sorted(facts.tick)
    assert found.total == sum(one.num_facts for one in found.relations) == len(expected)
    others = [other for _, _, other, _ in expected]
    neighbours = {one.name: one.num_facts for one in found.neighbours}
    assert neighbours == {name: others.count(name) for name in set(others)}


def test_pages_and_times() -> None:
    label = DATASET.timeline.label
    when = label(5), label(20)
    pages = [facts_of(DATASET, DATASET.facts, "e1", *when, page, 3) for page in range(1, 20)]
    assert {page.total for page in pages} == {len(slowly(1, 5, 20))}
    ticks = [tick for page in pages for tick in page.facts.tick]
    assert ticks == [time for time, *_ in slowly(1, 5, 20)]
    assert pages[0].facts.time[0] == label(ticks[0])
    assert pages[0].facts.end is None
    with pytest.raises(InputError, match="did you mean"):
        facts_of(DATASET, DATASET.facts, "e11")


def test_intervals_have_ends() -> None:
    facts = Facts.of([0, 0], [0, 0], [1, 1], [3, OPEN], [5, OPEN])
    nothing = Facts(facts.columns[:, :0])
    dataset = replace(DATASET, splits={"train": facts, "valid": nothing, "test": nothing})
    found = facts_of(dataset, facts, "e1").facts
    assert found.time == [None, "1970-01-04"]
    assert found.end == [None, "1970-01-06"]
    assert found.tick == [0, 3]
