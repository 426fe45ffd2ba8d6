"""A run for other programs: its embeddings by name, and its best answers to every query of a split.

csv     a folder: a table per embedding (entities.csv, …) and predictions.csv
pykeen  a folder: entity_to_id.tsv, relation_to_id.tsv and embeddings.safetensors
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn.config import require_choice
from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Context, Dataset, Facts, Split
from targcn.facts.export import as_frame, write_frame
from targcn.files import atomic_folder, require_absent
from targcn.graph.queries import FactColumns, time_order
from targcn.inference.answers import Answers
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Ask, QuestionIds
from targcn.models.factorization import learned_ticks
from targcn.output.terminal import count_progress
from targcn.runs.run import Run
from targcn.runs.store import open_run
from targcn.runs.tensors import write_tensors

ExportFormat = Literal["csv", "pykeen"]
EXPORT_FORMATS: Final[tuple[ExportFormat, ...]] = ("csv", "pykeen")
# As PyKEEN calls the reciprocal of a relation.
INVERSE: Final = "_inverse"
Array = NDArray[Any]


def export_run(
    run: Run | Path | str,
    out: Path | str,
    to: ExportFormat,
    *,
    split: Split = "test",
    context: Context | None = None,
    top: int = 10,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
) -> None:
    """Write the embeddings of a run and, as csv, its predictions, whole or not at all."""
    run, out = open_run(run), Path(out)
    require_choice(EXPORT_FORMATS, to=to)
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
    if run.dataset.has_intervals:
        raise InputError(
            f"{run.dataset.name} has facts with a beginning and an end; predictions are exported "
            "for facts with one time"
        )
    predictor = Predictor(run, context or run.default_context(split), device)
    with count_progress(f"answering {split}", "queries", progress) as shown:
        answers = predictor.answer(ask_split(run.dataset, split), top=top, progress=shown)
    _write_csv(run.dataset, tables, run.dataset.splits[split], answers, out)


def embeddings_of(run: Run) -> dict[str, Array]:
    """What the model of a run learned of each entity, relation and time (Model.embeddings)."""
    tables = run.model.embeddings().items()
    return {name: table.detach().cpu().numpy() for name, table in tables if table.numel()}


def row_names(dataset: Dataset, table: str, num_rows: int) -> list[str]:
    """What the rows of a table are called."""
    kind = table.partition(".")[0]
    if kind == "entities":
        return list(dataset.entities)
    if kind == "times":
        return [dataset.timeline.label(tick) for tick in learned_ticks(dataset).tolist()]
    relations = list(dataset.relations)
    return (relations + [name + INVERSE for name in relations])[:num_rows]


def ask_split(dataset: Dataset, split: Split) -> QuestionIds:
    """The questions for the objects of a split's facts, then those for their subjects."""
    facts = FactColumns.of(dataset.splits[split])
    order = time_order(facts.times)
    numbers: dict[Ask, Tensor] = {"object": order + 1, "subject": order + 1 + len(facts)}
    return QuestionIds(numbers, dict.fromkeys(numbers, facts[order]))


def _write_csv(
    dataset: Dataset, tables: Mapping[str, Array], facts: Facts, answers: Answers, out: Path
) -> None:
    frame = as_frame(dataset, facts)
    asked = pl.concat([frame.with_columns(asked=pl.lit(end)) for end in ("object", "subject")])
    rows = answers.questions.numpy() - 1
    position = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(pl.lit(rows))
    predictions = asked[rows].with_columns(
        position=position, answer=pl.Series(answers.names(dataset)), score=answers.scores.numpy()
    )
    with atomic_folder(out) as draft:
        write_frame(predictions, draft / "predictions.csv")
        for name, table in tables.items():
            names = pl.Series("name", row_names(dataset, name, len(table)))
            columns = pl.DataFrame(table, schema=[str(n) for n in range(table.shape[1])])
            write_frame(columns.insert_column(0, names), draft / f"{name}.csv")


def _write_for_pykeen(dataset: Dataset, tables: Mapping[str, Array], out: Path) -> None:
    num_relations = max(
        len(table) for name, table in tables.items() if name.startswith("relations")
    )
    with atomic_folder(out) as draft:
        relations = row_names(dataset, "relations", num_relations)
        for kind, names in (("entity", list(dataset.entities)), ("relation", relations)):
            frame = pl.DataFrame({"name": names, "id": range(len(names))})
            path = draft / f"{kind}_to_id.tsv"
            frame.write_csv(path, include_header=False, separator="\t", quote_style="never")
        tensors = {name: torch.from_numpy(table.copy()) for name, table in tables.items()}
        write_tensors(draft / "embeddings.safetensors", tensors)
