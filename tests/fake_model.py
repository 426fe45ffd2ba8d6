"""A model that gives the scores of any function, and what tests evaluate with it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import Tensor

from oracle import World
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.ranks_file import asked_rows, name_rows, query_columns
from targcn.evaluation.report import Report
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import ModelSettings
from targcn.recipes.recipe import Recipe
from targcn.recipes.training_settings import TrainingSettings
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run


class FakeModel:
    """Gives the scores of a function; remembers every batch, time, row and context it was shown."""

    leaks = ()
    has_probabilities = False

    def __init__(self, score: Callable[[Queries, int], Tensor]) -> None:
        self.score = score
        self.rows: list[list[float]] = []
        self.batches: list[int] = []
        self.times: list[int] = []
        self.contexts: list[TemporalGraph] = []

    def __call__(self, queries: Queries, context: TemporalGraph) -> Tensor:
        self.batches.append(len(queries))
        self.times += queries.times.tolist()
        self.contexts.append(context)
        scores = self.score(queries, context.num_entities)
        self.rows += scores.tolist()
        return scores

    def to(self, device: object) -> "FakeModel":
        return self

    def eval(self) -> "FakeModel":
        return self


def few_values(queries: Queries, num_entities: int) -> Tensor:
    """Depends on the query and the entity alone; only four values, so ties everywhere."""
    entities = torch.arange(num_entities)
    mixed = 7 * queries.subjects + 5 * queries.relations + 3 * queries.times
    return ((mixed[:, None] + 1) * (entities + 2) ** 2 % 11 % 4).double()


def row_alike(*row: float) -> Callable[[Queries, int], Tensor]:
    return lambda queries, num_entities: torch.tensor([row]).repeat(len(queries), 1)


def random_scores(seed: int) -> Callable[[Queries, int], Tensor]:
    """Scores no query explains: another row each time, so a target has no second way to score."""
    generator = torch.Generator().manual_seed(seed)

    def score(queries: Queries, num_entities: int) -> Tensor:
        return torch.randint(-2, 3, (len(queries), num_entities), generator=generator).double()

    return score


def fake_run(dataset: Dataset, model: Any) -> Run:
    recipe = Recipe("fake", "default", ModelSettings(), TrainingSettings())
    return Run(recipe, 0, dataset, model)


def report_of(world: World, score: Callable[[Queries, int], Tensor], **options: Any) -> Report:
    return evaluate(fake_run(world.dataset, FakeModel(score)), device="cpu", **options)


def write_scores(model: Any, evaluator: Evaluator, path: Path) -> None:
    """A file of the score of every entity for every query, as another system would write it."""
    columns = query_columns(evaluator.dataset)
    columns += () if evaluator.ticks is None or "time" in columns else ("time",)
    asked = asked_rows(evaluator)
    asked = asked.unique(asked.columns[1:], keep="first", maintain_order=True)
    asked = asked.sort("time", maintain_order=True)
    queries = evaluator.queries[asked["query"].to_torch()]
    with torch.inference_mode():
        queries = replace(queries, times=asked["time"].to_torch())
        scores = model.eval()(queries, evaluator.graph)
    names = pl.Series([list(evaluator.dataset.entities)]).extend_constant(None, len(asked) - 1)
    name_rows(evaluator, asked, columns).with_columns(
        candidates=names, scores=pl.Series(scores.numpy()).arr.to_list()
    ).write_parquet(path)


# Four entities; two facts in test; (0, 0, ·) has answers 1 at tick 0, 2 at tick 5, 3 at tick 0.
WORLD = World(4, 1, [(0, 0, 1, 0), (0, 0, 2, 5), (0, 0, 3, 0), (2, 0, 1, 5)], cuts=(1, 2))
MANY = World(5, 2, [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)])
