"""What holds for every model, whatever it does."""

import signal
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import World, queries_of
from small_training import create, same_weights, stop_at
from targcn.errors import InputError
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, Model, ModelSettings
from targcn.models.registry import MODELS, find_model
from targcn.runs.store import load_run
from targcn.training.fit import fit, resume
from targcn.training.signals import TrainingStopped

LEARNERS = [name for name in MODELS if issubclass(find_model(name), Learner)]
# A size that every model takes, and small windows where the defaults are large.
SMALL: dict[str, dict[str, Any]] = {name: {"dim": 40} for name in LEARNERS}
SMALL["evidence"] |= {"facts": 9, "first_facts": 3, "second_facts": 4}
SMALL["t-gap"] |= {"subject_edges": 9, "core_nodes": 4, "node_edges": 5, "subgraph_edges": 9}
SMALL["temp-sa"] |= {"window": 3}
SMALL["temp-gru"] |= {"window": 3}
SMALL["telm"] |= {"warm_up": 2}
WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * 7 % 23) for n in range(60)], cuts=(48, 54))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_found_and_has_settings_with_defaults(name: str) -> None:
    model = find_model(name)
    assert issubclass(model, Model)
    assert issubclass(model.Settings, ModelSettings)
    assert fields(model.Settings())
    assert MODELS[name].summary
    assert create(name, World(3, 1, [(0, 0, 1, 0)], cuts=(1, 1)).dataset).settings


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


@pytest.mark.parametrize("name", MODELS)
def test_a_score_depends_on_its_query_alone(name: str) -> None:
    """Entity 6 has no facts; times lie before, at, between and after the known ones."""
    model = create(name, WORLD.dataset, SMALL.get(name)).double().eval()
    queries = queries_of([(n % 7, n % 4, n * 5 % 31 - 4) for n in range(20)])
    with torch.no_grad():
        together = model(queries, WORLD.graph)
        alone = torch.cat([model(queries[row : row + 1], WORLD.graph) for row in range(20)])
        every_third = model(queries[::3], WORLD.graph)
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(every_third, together[::3])


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_stopped_run_goes_on_as_if_it_had_not_been_and_is_the_same_from_its_folder(
    name: str, tmp_path: Path
) -> None:
    how = SMALL[name] | {"epochs": 3, "batch_size": 40, "validate_every": 1, "device": "cpu"}
    whole = fit(WORLD.dataset, name, **how)
    stop = stop_at((1, 0), signal.SIGINT)
    with pytest.raises(TrainingStopped):
        fit(WORLD.dataset, name, out=tmp_path / "run", progress=stop, **how)
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole)
    kept = load_run(tmp_path / "run")
    assert same_weights(kept, whole)
    queries = queries_of([(0, 0, 3), (2, 3, 99)])
    with torch.no_grad():
        scores = [run.model.eval()(queries, WORLD.graph) for run in (kept, whole)]
    assert torch.equal(*scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_what_the_test_split_holds_changes_neither_weights_nor_scores(name: str) -> None:
    """Who is active on a test day, and how often, must not reach a model before it is asked."""
    known = [(s, s % 2, (s + t) % 6, t) for t in range(6) for s in range(6)]
    splits = ([(0, 0, 5, 6), (1, 1, 4, 7)], [(5, 1, 0, 6), (3, 0, 2, 7)])
    options = SMALL[name] | {"epochs": 1, "batch_size": 32} if name in LEARNERS else {}
    scores = []
    for test in splits:
        world = World(6, 2, [*known, *test], cuts=(30, 36))
        run = fit(world.dataset, name, device="cpu", **options)
        context = World(6, 2, known).graph
        with torch.no_grad():
            scores.append(run.model.eval()(queries_of([(0, 0, 6), (3, 2, 7)]), context))
    assert torch.equal(*scores)
