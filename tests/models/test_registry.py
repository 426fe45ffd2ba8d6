from dataclasses import fields

import pytest
import torch

from oracle import World, queries_of
from small_training import create
from targcn.errors import InputError
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, Model, ModelSettings
from targcn.models.registry import DEFAULT, MODELS, find_model
from targcn.training.fit import fit


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_found_and_has_settings_with_defaults(name: str) -> None:
    model = find_model(name)
    assert issubclass(model, Model)
    assert issubclass(model.Settings, ModelSettings)
    assert fields(model.Settings())
    assert MODELS[name].summary
    assert create(name, World(3, 1, [(0, 0, 1, 0)], cuts=(1, 1)).dataset).settings


def test_the_model_that_is_taken_unless_another_is_asked_for_exists() -> None:
    assert DEFAULT in MODELS


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no model 'sen'; did you mean 'seen'"):
        find_model("sen")
    with pytest.raises(InputError, match="there is no model '1234567'; 'targcn models' lists them"):
        find_model("1234567")


LASTING = World(3, 1, [(0, 0, 1, 0, 4), (1, 0, 2, 2, -1), (0, 0, 2, -1, 3)], cuts=(2, 2)).dataset


@pytest.mark.parametrize("name", MODELS)
def test_every_model_reads_intervals_or_says_that_it_does_not(name: str) -> None:
    if find_model(name).reads_intervals:
        model = create(name, LASTING)
        graph = TemporalGraph.of_context(LASTING, "all")
        with torch.no_grad():
            scores = model.eval()(queries_of([(0, 0, 3), (2, 1, 9)]), graph)
        assert scores.isfinite().all()
    else:
        with pytest.raises(InputError, match=f"{name} reads facts time by time, but those of worl"):
            create(name, LASTING)


def test_those_that_put_facts_into_snapshots_do_not_read_intervals() -> None:
    refusing = {name for name in MODELS if not find_model(name).reads_intervals}
    assert refusing == {"temp-sa", "temp-gru", "t-gap"}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_what_the_test_split_holds_changes_neither_weights_nor_scores(name: str) -> None:
    """Who is active on a test day, and how often, must not reach a model before it is asked."""
    known = [(s, s % 2, (s + t) % 6, t) for t in range(6) for s in range(6)]
    splits = ([(0, 0, 5, 6), (1, 1, 4, 7)], [(5, 1, 0, 6), (3, 0, 2, 7)])
    options: dict[str, int] = {"dim": 40} if hasattr(find_model(name).Settings, "dim") else {}
    if issubclass(find_model(name), Learner):
        options |= {"epochs": 1, "batch_size": 32}
    scores = []
    for test in splits:
        world = World(6, 2, [*known, *test], cuts=(30, 36))
        run = fit(world.dataset, name, device="cpu", **options)
        context = World(6, 2, known).graph
        with torch.no_grad():
            scores.append(run.model.eval()(queries_of([(0, 0, 6), (3, 2, 7)]), context))
    assert torch.equal(*scores)
