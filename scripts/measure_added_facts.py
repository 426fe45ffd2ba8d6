"""What facts newer than a run are worth to it: figures with and without them in the context.

    python scripts/measure_added_facts.py [MODEL] [SEED]

The last tenth of congress by time is held out: a run is trained on the table of the facts before it
and knows neither its facts nor its entities. Then a random half of the held-out facts is asked
about, and the other half is added to the context or not. Candidates and filters are the same in
both cases: all entities, and all facts.
"""

import sys
from dataclasses import replace

import numpy as np
import polars as pl
import torch
from torch import Tensor

import targcn
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.facts.dataset import Dataset, Facts
from targcn.graph.temporal_graph import TemporalGraph

SETTING = Setting("test", "train+valid")
SHARE = 0.1


def measure(model: str, seed: int) -> None:
    congress = targcn.open_dataset("congress")
    is_late = congress.facts.times >= np.quantile(congress.facts.times, 1 - SHARE)
    earlier, later = (congress.facts.where(rows) for rows in (~is_late, is_late))
    # Under its name, so that it is trained by the recipe for congress.
    before = replace(targcn.open_dataset(table_of(earlier, congress)), name=congress.name)
    run = targcn.fit(before, model, seed=seed)
    grown = run.with_facts(table_of(later, congress), SETTING.context)
    added, num_known = grown.dataset.added, len(run.dataset.entities)
    order = np.random.default_rng(seed).permutation(len(added))
    asked, shown = (added.where(np.sort(half)) for half in np.array_split(order, 2))
    splits = {**grown.dataset.splits, "test": asked}
    dataset = replace(grown.dataset, splits=splits, added=shown)
    evaluator = Evaluator(dataset, SETTING, torch.device("cpu"))
    has_new = np.maximum(asked.subjects, asked.objects) >= num_known
    print(f"{model} on congress before {congress.timeline.label(int(later.times.min()))}:")
    for line in grown.dataset.additions:
        print(line)
    print(f"asked about {len(asked):,}, of which {has_new.sum():,} have an entity that is new")
    without = TemporalGraph.of(
        run.dataset.context(SETTING.context), len(dataset.entities), len(dataset.relations)
    )
    for title, graph in (("without", without), (f"with {len(shown):,}", evaluator.graph)):
        evaluator.graph = graph
        ranks = evaluator.ranks(grown.model)
        for which in ("static", "time-aware"):
            print(f"{title} newer facts, {which}: {mrrs(ranks[which], torch.from_numpy(has_new))}")


def mrrs(ranks: Tensor, has_new: Tensor) -> str:
    found = 1 / ranks.view(2, -1)
    parts = {
        "all": found,
        "entities known": found[:, ~has_new],
        "one new": found[:, has_new],
    }
    return ", ".join(f"{name} MRR {part.mean():.3f}" for name, part in parts.items())


def table_of(facts: Facts, dataset: Dataset) -> pl.DataFrame:
    entities, relations = dataset.entities.names, dataset.relations.names
    return pl.DataFrame(
        {
            "subject": [entities[one] for one in facts.subjects.tolist()],
            "relation": [relations[one] for one in facts.relations.tolist()],
            "object": [entities[one] for one in facts.objects.tolist()],
            "time": [dataset.timeline.label(one) for one in facts.times.tolist()],
        }
    )


if __name__ == "__main__":
    measure(*(sys.argv[1:2] or ["targcn"]), int(*(sys.argv[2:3] or [0])))
