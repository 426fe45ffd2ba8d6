"""Facts as queries, and the ticks at which intervals are asked."""

import torch
from hypothesis import given

from oracle import World, checked, facts_of, with_reciprocals, worlds
from targcn.facts.dataset import OPEN, Facts
from targcn.graph.queries import draw_ticks, queries_of


@checked
@given(worlds())
def test_every_fact_is_asked_for_its_object_and_then_for_its_subject(world: World) -> None:
    queries, answers = queries_of(facts_of(world.facts), world.num_relations)
    columns = (queries.subjects, queries.relations, answers, queries.times)
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == with_reciprocals(world.facts, world.num_relations)
    assert len(queries) == 2 * len(world.facts)


TICKS = torch.tensor([0, 2, 3, 7, 8, 40])


def test_ticks_are_drawn_alike_from_those_of_the_timeline_within() -> None:
    intervals = {(3, 8): [3, 7, 8], (2, 2): [2], (OPEN, 3): [0, 2, 3], (8, OPEN): [8, 40]}
    copies = 3000
    for (first, last), inside in intervals.items():
        columns = ([0] * copies, [0] * copies, [1] * copies, [first] * copies, [last] * copies)
        for epoch in range(2):
            drawn = draw_ticks(Facts.of(*columns), TICKS, seed=5, epoch=epoch)
            found, counts = drawn.unique(return_counts=True)
            assert found.tolist() == inside
            expected = copies / len(inside)
            assert all(abs(count - expected) < 4 * expected**0.5 for count in counts.tolist())


def test_each_fact_epoch_and_seed_has_a_draw_of_its_own() -> None:
    facts = Facts.of([0] * 500, [0] * 500, [1] * 500, [OPEN] * 500, [OPEN] * 500)
    draws = [draw_ticks(facts, TICKS, *of) for of in ((0, 0), (0, 1), (1, 0), (0, 0))]
    assert torch.equal(draws[0], draws[3])
    for number in (1, 2):
        same = int((draws[0] == draws[number]).sum())
        assert abs(same - 500 / 6) < 4 * (500 / 6) ** 0.5
