"""A run with newer facts against one whose data had them from the beginning."""

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import torch

from oracle import World, facts_of
from targcn.errors import InputError
from targcn.graph.queries import queries_of
from targcn.graph.temporal_graph import TemporalGraph
from targcn.runs.run import Run
from targcn.training.fit import fit, initialize

FACTS = [(n % 6, n % 2, n * n % 5, n * 7 % 23) for n in range(60)]
WORLD = World(6, 2, FACTS, cuts=(50, 55))
# An entity and times that the data do not have, and one fact that it has.
MORE = [(6, 0, 1, 40), (2, 1, 6, 22), (3, 0, 0, 31)]
TARGCN: dict[str, Any] = {"dim": 8, "neighbors": 5, "window": 16, "epochs": 1, "device": "cpu"}


def frame_of(facts: list[tuple[int, int, int, int]]) -> pl.DataFrame:
    rows = [(f"e{s}", f"r{r}", f"e{o}", WORLD.dataset.timeline.label(t)) for s, r, o, t in facts]
    return pl.DataFrame(rows, schema=["subject", "relation", "object", "time"], orient="row")


def from_the_beginning(run: Run) -> Run:
    """A run of the same weights, in whose train split the newer facts are."""
    train = facts_of([*WORLD.train, *MORE])
    world = World(7, 2, [*FACTS, *MORE]).dataset
    dataset = replace(world, splits={**WORLD.dataset.splits, "train": train})
    model = initialize(run.recipe, dataset, seed=0)
    weights = dict(run.model.state_dict())
    if "entities" in weights:
        vectors = weights["entities"]
        weights["entities"] = torch.cat([vectors, vectors.mean(0, keepdim=True)])
    model.load_state_dict(weights)
    return replace(run, dataset=dataset, model=model)


def scores(run: Run) -> torch.Tensor:
    queries, _ = queries_of(facts_of([*FACTS, *MORE]), 2)
    with torch.inference_mode():
        return run.model.eval()(queries, TemporalGraph.of_context(run.dataset, "train+valid"))


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("targcn", TARGCN),
        ("targcn", TARGCN | {"steps": 2, "time_encoding": "absolute"}),
        ("decayed-copy", {}),
        ("seen", {}),
    ],
)
def test_facts_added_are_like_facts_from_the_beginning(model: str, settings: Any) -> None:
    run = fit(WORLD.dataset, model, **settings)
    weights = {name: value.clone() for name, value in run.model.state_dict().items()}
    grown = run.with_facts(frame_of([*MORE, FACTS[0]]), "train+valid")
    torch.testing.assert_close(scores(grown), scores(from_the_beginning(run)))
    assert scores(grown).shape[1] == 7
    # The run itself stays as it is.
    assert run.dataset is not grown.dataset
    assert (len(run.dataset.added), len(run.dataset.entities)) == (0, 6)
    assert all(torch.equal(weights[name], now) for name, now in run.model.state_dict().items())


def test_what_was_added_is_said() -> None:
    run = fit(WORLD.dataset, "targcn", **TARGCN)
    counts, new = run.with_facts(frame_of(MORE), "train").dataset.additions
    assert counts == "facts of the frame: 3 added to the context"
    assert new.startswith("entities new to the model have no vector of their own")
    assert new.endswith(": e6")
    (only_counts,) = run.with_facts(frame_of(MORE[2:]), "train").dataset.additions
    assert only_counts == "facts of the frame: 1 added to the context"


def test_many_new_entities_are_counted() -> None:
    many = frame_of([(100 + n, 0, 0, 1) for n in range(8)])
    *_, new = fit(WORLD.dataset, "seen").with_facts(many, "train").dataset.additions
    assert new.endswith(": e100, e101, e102, e103, e104 and 3 more")


def test_a_model_that_ignores_its_context_says_so() -> None:
    run = fit(WORLD.dataset, "distmult", dim=4, epochs=1, device="cpu")
    with pytest.raises(InputError, match="added facts would change none of its answers"):
        run.with_facts(frame_of(MORE), "train")


def test_a_run_shows_what_it_is_and_what_it_reaches() -> None:
    run = fit(WORLD.dataset, "distmult", dim=4, epochs=2, device="cpu")
    title, labels, *lines, data, figures = repr(run).splitlines()
    assert title.startswith("distmult on world: recipe default, seed 0, ")
    assert re.search(r", trained 2 epochs in [0-9,]+ s on cpu", title)
    assert labels.startswith("filter")
    assert run.validation is not None
    assert f"{run.validation.metrics['raw']['both']['mrr']:.3f}" in lines[0]
    assert data == f"data: {WORLD.dataset.summary}"
    assert figures == "figures: valid split, context train, mean rank on ties"
    assert "<table>" in run._repr_html_()


def test_a_run_without_figures_says_how_to_get_them() -> None:
    shown = repr(fit(WORLD.dataset, "seen")).splitlines()
    assert shown[0] == "seen on world: recipe default, seed 0, 0 parameters"
    assert shown[-1] == "targcn.evaluate(run) gives its figures"
