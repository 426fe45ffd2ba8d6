"""The facts of an entity."""

from dataclasses import replace

import pytest

from oracle import World
from small_server import FACTS
from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.serve.entity_facts import EntityFacts

WORLD = World(9, 2, FACTS, cuts=(100, 130))


def slowly(entity: int, first: int = 0, last: int = 99) -> list[tuple[int, int, int, str]]:
    """Tick, relation, the other entity and the direction, of every fact of an entity."""
    found = []
    for subject, relation, object_, time in FACTS:
        if first <= time <= last and entity in (subject, object_):
            out = subject == entity
            found.append((time, relation, object_ if out else subject, "out" if out else "in"))
    return sorted(found)


@pytest.mark.parametrize("entity", range(9))
def test_all_facts_are_found(entity: int) -> None:
    found = EntityFacts.of(WORLD.dataset).find(f"e{entity}", None, None, 1, 1000)
    facts = found["facts"]
    rows = zip(facts["tick"], facts["relation"], facts["other"], facts["direction"], strict=True)
    expected = slowly(entity)
    assert sorted((t, int(r[1:]), int(o[1:]), d) for t, r, o, d in rows) == expected
    assert facts["tick"] == sorted(facts["tick"])
    assert found["total"] == len(expected)
    counted = {(one["name"], one["direction"]): one["num_facts"] for one in found["relations"]}
    assert sum(counted.values()) == len(expected)
    others = [other for _, _, other, _ in expected]
    neighbours = {one["name"]: one["num_facts"] for one in found["neighbours"]}
    assert neighbours == {f"e{one}": others.count(one) for one in set(others)}


def test_pages_and_times() -> None:
    index = EntityFacts.of(WORLD.dataset)
    label = WORLD.dataset.timeline.label
    pages = [index.find("e1", label(5), label(20), page, 3) for page in range(1, 20)]
    assert {page["total"] for page in pages} == {len(slowly(1, 5, 20))}
    ticks = [tick for page in pages for tick in page["facts"]["tick"]]
    assert ticks == [time for time, *_ in slowly(1, 5, 20)]
    assert pages[0]["facts"]["time"][0] == label(ticks[0])
    assert pages[0]["facts"]["end"] is None
    with pytest.raises(InputError, match="did you mean"):
        index.find("e11", None, None, 1, 3)


def test_intervals_have_ends() -> None:
    facts = Facts.of([0, 0], [0, 0], [1, 1], [3, OPEN], [5, OPEN])
    nothing = Facts(facts.columns[:, :0])
    world: Dataset = WORLD.dataset
    splits = {"train": facts, "valid": nothing, "test": nothing}
    found = EntityFacts.of(replace(world, splits=splits)).find("e1", None, None, 1, 10)
    assert found["facts"]["time"] == [None, "1970-01-04"]
    assert found["facts"]["end"] == [None, "1970-01-06"]
    assert found["facts"]["tick"] == [0, 3]
