"""Names in, names out: the best answers to queries with one open entity.

Takes a run and questions in words; gives a frame of answers, best first, each with its
probability and whether it is known. Next room: explanation, cli.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from targcn.checkpoint import Run
from targcn.errors import InputError
from targcn.evaluation import known_answers, require_numbers, rows_at_once
from targcn.facts.dataset import Context
from targcn.facts.graph import TemporalGraph
from targcn.filtering import Filter, KnownAnswers
from targcn.models.contract import Queries, learns

if TYPE_CHECKING:
    import polars as pl

# What a model lays out for a question beside its scores may be large.
MOST_QUESTIONS_AT_ONCE: Final = 256
OPEN: Final = (None, "", "?")


@dataclass(frozen=True)
class Question:
    """A fact with one entity left open, which is None, empty or a question mark."""

    subject: str | None
    relation: str
    object: str | None
    time: str | int | date


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
    """The entities that best fill the open place of one query.

    An answer is known "then" where some split holds it at this time, "at another time" where only
    at others, else "no". The probability is the softmax over all entities, empty for models that
    learn nothing. Any date will do, also one never seen.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=2)
    >>> seat = "Illinois Senate seat, class 3"
    >>> targcn.predict(run, None, "holds Senate seat", seat, 2005, top=2)
    shape: (2, 5)
    ┌──────┬───────────────┬──────────┬─────────────┬─────────────────┐
    │ rank ┆ answer        ┆ score    ┆ probability ┆ known           │
    │ ---  ┆ ---           ┆ ---      ┆ ---         ┆ ---             │
    │ i64  ┆ str           ┆ f64      ┆ f64         ┆ str             │
    ╞══════╪═══════════════╪══════════╪═════════════╪═════════════════╡
    │ 1    ┆ Roland Burris ┆ 1.363353 ┆ null        ┆ at another time │
    │ 2    ┆ Mark Kirk     ┆ 0.83085  ┆ null        ┆ at another time │
    └──────┴───────────────┴──────────┴─────────────┴─────────────────┘
    """
    question = Question(subject, relation, object, time)
    return predict_many(run, [question], top=top, context=context).drop("question")


def predict_many(
    run: Run,
    questions: Sequence[Question],
    *,
    top: int = 10,
    context: Context = "train+valid",
    progress: Callable[[int, int], None] | None = None,
) -> "pl.DataFrame":
    """The answers to many questions, in batches; `question` counts them from 0."""
    import polars as pl

    require_some(top, "answer")
    queries = encode(run, questions)
    graph, known = _looked_up(run, context)
    model = run.model.to("cpu").eval()
    learned = learns(model)
    names = run.dataset.entities.names
    batch_size = min(rows_at_once(graph.num_entities, graph.device), MOST_QUESTIONS_AT_ONCE)
    frames = []
    for start in range(0, len(queries), batch_size):
        batch = queries[slice(start, start + batch_size)]
        with torch.inference_mode():
            scores = model(batch, graph)
            require_numbers(scores)
            best = torch.topk(scores, min(top, scores.shape[1]), dim=1)
            shares = best.values - scores.logsumexp(1, keepdim=True)
        num_rows, num_answers = best.indices.shape
        answers = best.indices.flatten().tolist()
        frames.append(
            pl.DataFrame(
                {
                    "question": torch.arange(start, start + num_rows)
                    .repeat_interleave(num_answers)
                    .numpy(),
                    "rank": torch.arange(1, num_answers + 1).repeat(num_rows).numpy(),
                    "answer": [names[answer] for answer in answers],
                    "score": best.values.flatten().double().numpy(),
                    "probability": shares.exp().flatten().double().numpy() if learned else None,
                    "known": _known(best.indices, batch, known),
                },
                schema_overrides={"probability": pl.Float64},
            )
        )
        if progress is not None:
            progress(min(start + batch_size, len(queries)), len(queries))
    if not frames:
        raise InputError("there are no questions to answer")
    return pl.concat(frames)


def require_some(top: int, what: str) -> None:
    """Refuse to give nothing."""
    if top < 1:
        raise InputError(f"top is {top}; ask for at least 1 {what}")


def encode(run: Run, questions: Sequence[Question]) -> Queries:
    """Turn words into ids; a query for a subject asks under the reciprocal relation."""
    dataset = run.dataset
    subjects, relations, times = [], [], []
    for number, question in enumerate(questions, 1):
        where = f"question {number}: " if len(questions) > 1 else ""
        asks_subject, asks_object = question.subject in OPEN, question.object in OPEN
        if asks_subject == asks_object:
            raise InputError(f"{where}leave exactly one of subject and object open, as ?")
        try:
            given = question.object if asks_subject else question.subject
            subjects.append(dataset.entities.id_of(str(given)))
            relation = dataset.relations.id_of(question.relation)
            relations.append(relation + len(dataset.relations) * asks_subject)
            times.append(dataset.timeline.tick(question.time))
        except InputError as error:
            raise InputError(f"{where}{error}") from None
    return Queries(torch.tensor(subjects), torch.tensor(relations), torch.tensor(times))


@lru_cache(maxsize=2)
def _looked_up(run: Run, context: Context) -> tuple[TemporalGraph, dict[Filter, KnownAnswers]]:
    """What every question to a run needs, made at the first one."""
    return TemporalGraph.of_context(run.dataset, context), known_answers(run.dataset, "cpu")


def context_graph(run: Run, context: Context) -> TemporalGraph:
    """The facts a run looks at when it is asked."""
    return _looked_up(run, context)[0]


def _known(answers: Tensor, queries: Queries, known: dict[Filter, KnownAnswers]) -> list[str]:
    flags = {}
    for which in ("time-aware", "static"):
        rows, entities = known[which].look_up(queries)
        num_entities = max(int(answers.max()), int(entities.max()) if len(entities) else 0) + 1
        keys = torch.arange(len(answers))[:, None] * num_entities + answers
        flags[which] = torch.isin(keys, rows * num_entities + entities).flatten().tolist()
    pairs = zip(flags["time-aware"], flags["static"], strict=True)
    return ["then" if then else "at another time" if ever else "no" for then, ever in pairs]
