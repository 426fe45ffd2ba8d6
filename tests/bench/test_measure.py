"""What every benchmark refuses, and where it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench_results import TINY
from oracle import World
from targcn.bench.epoch import measure_epoch
from targcn.bench.evaluate import measure_evaluate
from targcn.bench.generated_data import generate, generate_into
from targcn.bench.ingest import measure_ingest
from targcn.bench.measure import note_load, peak_bytes, run_apart, run_group
from targcn.bench.predict import measure_predict
from targcn.bench.sampler import measure_sampler
from targcn.bench.scale import measure_scale
from targcn.bench.shards import measure_shards
from targcn.errors import InputError

pytestmark = pytest.mark.slow

ON_A_BARE_NODE = """
import sys
for absent in ("polars", "pandas", "cyclopts"):
    sys.modules[absent] = None
import targcn
from targcn.bench.epoch import measure_epoch
from targcn.bench.evaluate import measure_evaluate
from targcn.bench.sampler import measure_sampler
dataset = targcn.open_dataset(sys.argv[1])
small = {"dim": 4, "batch_size": 64}
print(measure_sampler(dataset, queries=9, device="cpu").to_json()["bench"])
print(measure_epoch(dataset, settings=small, repeats=1, device="cpu").to_json()["bench"])
print(measure_evaluate(dataset, settings=small, device="cpu").to_json()["bench"])
"""


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    empty = World(3, 1, []).dataset
    for attempt, sentence in (
        (lambda: measure_sampler(empty, device="cpu"), "nothing to sample"),
        (lambda: measure_sampler(TINY, queries=0), "queries is 0"),
        (lambda: measure_epoch(empty, device="cpu"), "nothing to learn from"),
        (lambda: measure_epoch(TINY, repeats=0, device="cpu"), "repeats is 0"),
        (lambda: measure_epoch(TINY, settings={"dimm": 3}, device="cpu"), "did you mean 'dim'"),
        (lambda: measure_epoch(TINY, model="seen", device="cpu"), "nothing to learn, so"),
        (lambda: measure_epoch(TINY, recipe="papre", device="cpu"), "has no recipe 'papre'"),
        (lambda: measure_evaluate(empty, device="cpu"), "nothing to evaluate"),
        (lambda: measure_evaluate(TINY, repeats=0, device="cpu"), "repeats is 0"),
        (lambda: measure_predict(empty), "too few facts"),
        (lambda: measure_ingest([]), "rows is empty"),
        (lambda: measure_ingest([5]), "facts is 5"),
        (lambda: measure_scale([]), "facts is empty"),
        (lambda: measure_scale([100], folder=tmp_path / "gone"), "there is no folder"),
        (lambda: measure_shards([]), "processes is 0"),
        (lambda: measure_shards([1], folder=tmp_path / "gone"), "there is no folder"),
    ):
        with pytest.raises(InputError, match=sentence):
            attempt()


def test_a_process_apart_says_what_was_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already exists"):
        run_apart(generate_into, folder=tmp_path, shape=TINY)
    with pytest.raises(TypeError, match="shap"):
        run_apart(generate_into, folder=tmp_path, shap=TINY)
    with pytest.raises(InputError, match="memory is likely to have run out"):
        run_apart(os._exit, status=1)


def test_a_process_apart_has_memory_of_its_own() -> None:
    held = bytearray(10**8)
    assert run_apart(peak_bytes) < peak_bytes() - len(held) / 2


def test_torch_and_numpy_are_enough(tmp_path: Path) -> None:
    generate(TINY).save(tmp_path / "data")
    code = [sys.executable, "-c", ON_A_BARE_NODE, tmp_path / "data"]
    ended = subprocess.run(code, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.stdout.split() == ["sampler", "epoch", "evaluate"], ended.stderr


@pytest.mark.parametrize(
    ("load", "notes"), [(2.4, ()), (7.04, ("the machine was busy: load 7.0 on 2 cores",))]
)
def test_a_busy_machine_is_noted(
    load: float, notes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert note_load() == notes


def place_of_process(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names}


def test_each_process_of_a_group_knows_its_place() -> None:
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR")
    of_each = run_group(place_of_process, 2, names=names)
    assert [[row[name] for name in names] for row in of_each] == [
        ["0", "0", "2", "127.0.0.1"],
        ["1", "1", "2", "127.0.0.1"],
    ]
    assert "RANK" not in os.environ
