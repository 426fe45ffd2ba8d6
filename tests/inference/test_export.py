"""Runs for other programs: rows have the names they belong to, answers are those of the model."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from oracle import World
from small_runs import untrained
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.graph.queries import Queries
from targcn.inference.export import embeddings_of, export_run, row_names
from targcn.models.registry import MODELS
from targcn.runs.run import Run

FACTS = [(n % 13, n % 3, (n * n + 3) % 13, n % 11) for n in range(80)]
WORLD = World(13, 3, FACTS, cuts=(60, 70))


@pytest.mark.parametrize("model", MODELS)
def test_every_table_of_vectors_is_among_the_embeddings(model: str) -> None:
    run = untrained(WORLD.dataset, model)
    tables = embeddings_of(run)
    for name, table in tables.items():
        assert table.ndim == 2
        assert len(row_names(run.dataset, name, len(table))) == len(table)
    # Whatever else has a vector per entity would have been forgotten.
    found = sum(table.size for name, table in tables.items() if name.startswith("entities"))
    sizes = [value for value in run.model.parameters() if value.dim() > 1 and 13 in value.shape[:2]]
    assert found == sum(value.numel() for value in sizes)


@pytest.fixture(scope="module")
def tcomplex() -> Run:
    return untrained(WORLD.dataset, "tcomplex", dim=4)


def test_csv_has_names_beside_vectors_and_answers(tcomplex: Run, tmp_path: Path) -> None:
    export_run(tcomplex, tmp_path / "out", "csv", top=2, device="cpu")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("entities.csv", "relations.csv", "times.csv", "predictions.csv")
    }
    entities = pl.read_csv(tmp_path / "out" / "entities.csv")
    assert entities["name"].to_list() == [f"e{number}" for number in range(13)]
    assert np.allclose(entities.drop("name").to_numpy(), tcomplex.model.entities.detach())
    relations = pl.read_csv(tmp_path / "out" / "relations.csv")["name"].to_list()
    assert relations == ["r0", "r1", "r2", "r0_inverse", "r1_inverse", "r2_inverse"]
    times = pl.read_csv(tmp_path / "out" / "times.csv")["name"]
    assert times.to_list() == [f"1970-01-{day:02d}" for day in range(1, 12)]
    answers = pl.read_csv(tmp_path / "out" / "predictions.csv")
    assert answers.height == 2 * 2 * len(WORLD.test)
    subject, relation, object_, time = WORLD.test[-1]
    asked = Queries(*(torch.tensor([one]) for one in (object_, relation + 3, time)))
    evaluator = Evaluator(WORLD.dataset, Setting("test", "train+valid"), torch.device("cpu"))
    best = tcomplex.model(asked, evaluator.graph)[0].topk(2)
    *_, first, second = answers.rows()
    query = (f"e{subject}", f"r{relation}", f"e{object_}", f"1970-01-{time + 1:02d}", "subject")
    for place, row in enumerate((first, second)):
        assert row[:7] == (*query, place + 1, f"e{best.indices[place]}")
        assert row[7] == pytest.approx(best.values[place].item())


def read_ids(path: Path) -> dict[str, int]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: int(number) for name, number in (line.split("\t") for line in lines)}


def test_ids_and_tensors_for_pykeen(tcomplex: Run, tmp_path: Path) -> None:
    export_run(tcomplex, tmp_path / "out", "pykeen")
    assert read_ids(tmp_path / "out" / "entity_to_id.tsv")["e12"] == 12
    assert read_ids(tmp_path / "out" / "relation_to_id.tsv")["r0_inverse"] == 3
    tensors = load_file(tmp_path / "out" / "embeddings.safetensors")
    assert {name: tuple(table.shape) for name, table in tensors.items()} == {
        "entities": (13, 8),
        "relations": (6, 8),
        "times": (11, 8),
    }


@pytest.mark.parametrize(
    ("out", "to", "options", "sentence"),
    [
        ("a", "onnx", {}, "to 'onnx' is unknown; choose one of csv, pykeen"),
        ("a", "csv", {"top": 0}, "top is 0; at least 1 was"),
        (".", "csv", {}, "already exists"),
    ],
)
def test_what_is_refused(
    tcomplex: Run, tmp_path: Path, out: str, to: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        export_run(tcomplex, tmp_path / out, to, device="cpu", **options)


@pytest.mark.filterwarnings("ignore")
def test_pykeen_loads_the_vectors_and_gives_the_same_scores(tmp_path: Path) -> None:
    pytest.importorskip("pykeen")
    run = untrained(WORLD.dataset, "complex", dim=4)
    export_run(run, tmp_path / "run-for-pykeen", "pykeen")
    theirs = load_as_in_the_docs(tmp_path / "run-for-pykeen")
    queries = Queries(torch.tensor([2, 7]), torch.tensor([1, 5]), torch.tensor([0, 0]))
    scores = theirs.score_t(torch.stack([queries.subjects, queries.relations], dim=1))
    torch.testing.assert_close(scores, run.model(queries, WORLD.graph))


def load_as_in_the_docs(folder: Path) -> Any:
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    (program,) = [block for block in text.split("```python\n") if "pykeen" in block[:200]]
    names: dict[str, Any] = {"folder": folder}
    exec(program.partition("```")[0], names)
    return names["model"]
