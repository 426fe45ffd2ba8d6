"""The rows of a table that asks every query of a split, against loops."""

from pathlib import Path
from typing import Any

import torch
from hypothesis import given

from oracle import World, checked, holds, interval_worlds, worlds
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.query_rows import AskedRows, distinct_queries, find_rows, name_rows
from targcn.evaluation.report import Setting
from targcn.facts.dataset import OPEN


def evaluator_of(world: World, intervals: Any = None) -> Evaluator:
    return Evaluator(
        world.dataset, Setting("test", "train", "mean", intervals), torch.device("cpu")
    )


def row_numbers(world: World) -> list[int]:
    """Each query at each tick of the data that its fact holds at."""
    of_data = sorted({tick for fact in world.facts for tick in fact[3:] if tick != OPEN})
    queries = list(enumerate(2 * world.test))
    return [number for number, fact in queries for tick in of_data if holds(fact, tick)]


@checked
@given(interval_worlds())
def test_a_query_has_a_row_for_each_of_its_ticks_or_one(world: World) -> None:
    each = AskedRows.of(evaluator_of(world))
    assert each.queries.tolist() == row_numbers(world)
    twice = 2 * world.test
    rows = zip(each.queries.tolist(), each.times.tolist(), strict=True)
    assert all(holds(twice[number], tick) for number, tick in rows)
    once = AskedRows.of(evaluator_of(world, "identical"))
    assert once.queries.tolist() == list(range(len(twice)))


@checked
@given(worlds(min_facts=1))
def test_named_rows_are_found_in_any_order(world: World) -> None:
    evaluator = evaluator_of(world)
    named = name_rows(evaluator, AskedRows.of(evaluator)).unique(maintain_order=True)
    facts = [(f"e{s}", f"r{r}", f"e{o}") for s, r, o, _ in 2 * world.test]
    assert len(distinct_queries(evaluator)) == named.height
    shuffled = named.sample(fraction=1, shuffle=True, seed=1)
    places = find_rows(Path("a.parquet"), shuffled, evaluator)
    found = shuffled[places].select("subject", "relation", "object").rows()
    assert found == facts
    assert shuffled["asked"][places].to_list() == [
        side for side in ("object", "subject") for _ in world.test
    ]
