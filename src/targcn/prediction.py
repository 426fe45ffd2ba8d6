"""Names in, names out: the best answers to a query with one open entity.

Takes a run and a query in words; gives a frame of answers, best first, each marked as known or
not. Next room: the command line.
"""

from datetime import date
from typing import TYPE_CHECKING

import torch

from targcn.checkpoint import Run
from targcn.errors import InputError
from targcn.evaluation import known_answers
from targcn.facts.dataset import Context
from targcn.facts.graph import TemporalGraph
from targcn.models.contract import Queries

if TYPE_CHECKING:
    import polars as pl


def predict(
    run: Run,
    subject: str | None,
    relation: str,
    object: str | None,
    time: str | int | date,
    *,
    top: int = 10,
    context: Context = "train+valid",
) -> "pl.DataFrame":
    """The entities that best fill the open place of a query, with rank, score and what is known.

    Exactly one of subject and object is None. An answer is known "then" where some split holds it
    at this time, "at another time" where only at others, else "no".

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=2)
    >>> seat = "Illinois Senate seat, class 3"
    >>> targcn.predict(run, None, "holds Senate seat", seat, 2005, top=2)
    shape: (2, 4)
    ┌──────┬───────────────┬──────────┬─────────────────┐
    │ rank ┆ answer        ┆ score    ┆ known           │
    │ ---  ┆ ---           ┆ ---      ┆ ---             │
    │ i64  ┆ str           ┆ f64      ┆ str             │
    ╞══════╪═══════════════╪══════════╪═════════════════╡
    │ 1    ┆ Roland Burris ┆ 1.363353 ┆ at another time │
    │ 2    ┆ Mark Kirk     ┆ 0.83085  ┆ at another time │
    └──────┴───────────────┴──────────┴─────────────────┘
    """
    import polars as pl

    dataset = run.dataset
    if (subject is None) == (object is None):
        raise InputError("leave exactly one of subject and object open")
    if top < 1:
        raise InputError(f"top is {top}; ask for at least 1 answer")
    asked_relation = dataset.relations.id_of(relation)
    if subject is None:
        asked_relation += len(dataset.relations)
    given = dataset.entities.id_of(str(object if subject is None else subject))
    query = Queries(
        torch.tensor([given]),
        torch.tensor([asked_relation]),
        torch.tensor([dataset.timeline.tick(time)]),
    )
    sizes = len(dataset.entities), len(dataset.relations)
    graph = TemporalGraph.of(dataset.context(context), *sizes)
    with torch.inference_mode():
        scores = run.model.to("cpu").eval()(query, graph)[0]
    best = torch.topk(scores, min(top, len(scores)))
    known = known_answers(dataset, "cpu")
    then, ever = (
        set(known[which].look_up(query)[1].tolist()) for which in ("time-aware", "static")
    )
    answers = best.indices.tolist()
    return pl.DataFrame(
        {
            "rank": range(1, len(answers) + 1),
            "answer": [dataset.entities.names[answer] for answer in answers],
            "score": best.values.tolist(),
            "known": [
                "then" if answer in then else "at another time" if answer in ever else "no"
                for answer in answers
            ],
        }
    )
