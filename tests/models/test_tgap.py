"""T-GAP against a version that walks edge by edge, and what it must not see."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import Query, World, checked, queries_of, tgap, with_reciprocals, worlds_with_queries
from small_training import create
from targcn.errors import InputError
from targcn.graph.neighbors import HiddenFacts
from targcn.models.tgap import LEAST_MASS, TGAP

SMALL = {"dim": 6, "heads": 2}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"subject_edges": 2, "core_nodes": 2, "node_edges": 1, "subgraph_edges": 3},
    {"steps": 1, "distances": 3, "loop_time": "first"},
    {"steps": 2, "core_nodes": 1, "subgraph_edges": 1, "own_fact": "reciprocal-kept"},
]


def build(world: World, **settings: Any) -> TGAP:
    """A model of double precision whose weights are all far from 0."""
    model = create("t-gap", world.dataset, SMALL | settings)
    assert isinstance(model, TGAP)
    torch.manual_seed(1)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return model.double().eval()


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@checked
@given(worlds_with_queries())
def test_masses_are_those_of_walking_edge_by_edge(
    settings: dict[str, Any], past_only: bool, drawn: tuple[World, list[Query]]
) -> None:
    world, asked = drawn
    model = build(world, **settings)
    with torch.no_grad():
        scores = model(queries_of(asked), world.past if past_only else world.graph)
        sizes = world.num_entities, world.num_relations
        for found, query in zip(scores, asked, strict=True):
            mass, _ = tgap(model, world.facts, *sizes, query, past_only=past_only)
            expected = torch.stack([one.mean() for one in mass])
            torch.testing.assert_close(found.exp() - LEAST_MASS, expected, atol=1e-9, rtol=1e-6)
            assert float(found.exp().sum()) == pytest.approx(1)
