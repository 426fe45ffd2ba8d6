"""A run for other programs: its embeddings by name, and its best answers to every query of a split.

csv     a folder: a table per embedding (entities.csv, …) and predictions.csv
npz     one file for numpy with the same, answers as ids
pykeen  a folder: entity_to_id.tsv, relation_to_id.tsv and embeddings.safetensors
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.query_rows import name_queries
from targcn.evaluation.ranking import Progress, in_batches, rows_at_once
from targcn.evaluation.report import Setting
from targcn.facts.dataset import Context, Dataset, Split
from targcn.facts.export import write_frame
from targcn.files import atomic_file, atomic_folder, require_absent
from targcn.graph.queries import time_order
from targcn.models.factorization import learned_ticks
from targcn.output.terminal import count_progress
from targcn.runs.run import Run
from targcn.runs.store import open_run
from targcn.runs.tensors import write_tensors

Form = Literal["csv", "npz", "pykeen"]
FORMS: Final[tuple[Form, ...]] = ("csv", "npz", "pykeen")
# As PyKEEN calls the reciprocal of a relation.
INVERSE: Final = "_inverse"
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The best answers to every query of a split, best first, and their scores; a row per query."""

    # Subject, relation and object as ids, and 1 where the subject was asked for.
    queries: Array
    in_words: pl.DataFrame
    answers: Array
    scores: Array


def export_run(
    run: Run | Path | str,
    out: Path | str,
    to: Form,
    *,
    split: Split = "test",
    context: Context | None = None,
    top: int = 10,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
) -> None:
    """Write the embeddings of a run and, as csv or npz, its predictions, whole or not at all."""
    run, out = open_run(run), Path(out)
    if to not in FORMS:
        raise InputError(f"{to!r} is unknown; choose one of {', '.join(FORMS)}")
    if to == "npz" and out.suffix != ".npz":
        raise InputError(f"{out} should end in .npz")
    require_absent(out)
    tables = embeddings_of(run)
    if to == "pykeen":
        if not tables:
            raise InputError(
                f"{run.recipe.model} has no vectors of entities for PyKEEN; --to csv writes its "
                "predictions"
            )
        _write_for_pykeen(run.dataset, tables, out)
        return
    with count_progress(f"answering {split}", "queries", progress) as told:
        found = predictions_of(run, split, context, top, device, told)
    if to == "csv":
        _write_csv(run.dataset, tables, found, out)
    else:
        _write_npz(run.dataset, tables, found, out)


def embeddings_of(run: Run) -> dict[str, Array]:
    """What the model of a run learned of each entity, relation and time (Model.embeddings)."""
    tables = {name: table.detach().cpu() for name, table in run.model.embeddings().items()}
    return {name: table.numpy() for name, table in tables.items() if table.numel()}


def row_names(dataset: Dataset, table: str, num_rows: int) -> list[str]:
    """What the rows of a table are called."""
    kind = table.partition(".")[0]
    if kind == "entities":
        return list(dataset.entities)
    if kind == "times":
        return [dataset.timeline.label(tick) for tick in learned_ticks(dataset).tolist()]
    relations = list(dataset.relations)
    return (relations + [name + INVERSE for name in relations])[:num_rows]


def predictions_of(
    run: Run,
    split: Split = "test",
    context: Context | None = None,
    top: int = 10,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
) -> Predictions:
    """Ask a run about every fact of a split, in both directions."""
    if top < 1:
        raise InputError(f"top is {top}; at least 1 answer was expected")
    if run.dataset.has_intervals:
        raise InputError(
            f"{run.dataset.name} has facts with a beginning and an end; predictions are exported "
            "for facts with one time"
        )
    setting = Setting(split, context or run.default_context(split))
    evaluator = Evaluator(run.dataset, setting, choose_device(device))
    model = run.model_to_evaluate().to(evaluator.device).eval()
    num_entities, order = len(run.dataset.entities), time_order(evaluator.queries.times)
    found = torch.empty(2, len(order), min(top, num_entities), dtype=torch.float64)

    def best(rows: slice) -> torch.Tensor:
        scores = model(evaluator.queries[order[rows]], evaluator.graph)
        values, places = scores.double().topk(found.shape[2])
        return torch.stack([values, places.double()]).cpu()

    start = 0
    for batch in in_batches(
        best, len(order), rows_at_once(num_entities, evaluator.device), progress
    ):
        found[:, order[start : start + batch.shape[1]].cpu()] = batch
        start += batch.shape[1]
    facts = evaluator.facts.columns[:3].T
    asked = np.arange(2).repeat(len(facts))[:, None]
    return Predictions(
        np.hstack([np.vstack([facts, facts]), asked]),
        name_queries(evaluator, np.arange(evaluator.num_queries)),
        found[1].long().numpy(),
        found[0].numpy(),
    )


def _write_csv(
    dataset: Dataset, tables: Mapping[str, Array], found: Predictions, out: Path
) -> None:
    top = found.answers.shape[1]
    answers = found.in_words.with_columns(
        position=pl.lit(list(range(1, top + 1))),
        answer=pl.Series(list(dataset.entities))[found.answers.ravel()].reshape((-1, top)),
        score=pl.Series(found.scores),
    ).with_columns(pl.col("answer", "score").arr.to_list())
    with atomic_folder(out) as draft:
        write_frame(answers.explode("position", "answer", "score"), draft / "predictions.csv")
        for name, table in tables.items():
            names = pl.Series("name", row_names(dataset, name, len(table)))
            columns = pl.DataFrame(table, schema=[str(n) for n in range(table.shape[1])])
            write_frame(columns.insert_column(0, names), draft / f"{name}.csv")


def _write_npz(
    dataset: Dataset, tables: Mapping[str, Array], found: Predictions, out: Path
) -> None:
    arrays: dict[str, Array] = {
        "entity_names": np.array(list(dataset.entities)),
        "relation_names": np.array(list(dataset.relations)),
        "prediction_queries": found.queries,
        "prediction_times": np.array(found.in_words["time"].to_list()),
        "prediction_answers": found.answers,
        "prediction_scores": found.scores,
    }
    if "times" in tables:
        arrays["time_names"] = np.array(row_names(dataset, "times", 0))
    with atomic_file(out) as draft:
        np.savez_compressed(draft, **tables, **arrays)  # type: ignore[arg-type]


def _write_for_pykeen(dataset: Dataset, tables: Mapping[str, Array], out: Path) -> None:
    num_relations = max(
        len(table) for name, table in tables.items() if name.startswith("relations")
    )
    with atomic_folder(out) as draft:
        _write_ids(draft / "entity_to_id.tsv", list(dataset.entities))
        names = row_names(dataset, "relations", num_relations)
        _write_ids(draft / "relation_to_id.tsv", names)
        tensors = {name: torch.from_numpy(table.copy()) for name, table in tables.items()}
        write_tensors(draft / "embeddings.safetensors", tensors)


def _write_ids(path: Path, names: Sequence[str]) -> None:
    frame = pl.DataFrame({"name": names, "id": range(len(names))})
    frame.write_csv(path, include_header=False, separator="\t", quote_style="never")
