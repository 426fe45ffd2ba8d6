"""A run as it is served."""

from pathlib import Path

from small_server import NAMES
from targcn.evaluation.report import Setting
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.runs.store import save_run
from targcn.serve.served_run import ServedRun, name_runs
from targcn.training.progress import Trace


def test_what_the_folder_tells(runs: dict[str, Run], tmp_path: Path) -> None:
    report = evaluate(runs["copy"], split="valid", device="cpu")
    save_run(runs["copy"], tmp_path / "run", [report])
    trace = Trace(tmp_path / "run" / "trace.jsonl")
    trace.write(1, loss=2.5)
    trace.write(1, valid={"time-aware": {"both": {"mrr": 0.5}}})
    trace.write(2, loss=1.5)
    with trace.path.open("a") as stream:  # type: ignore[union-attr]
        stream.write('{"epoch": 3, "lo')
    served = ServedRun("run", runs["copy"], device="cpu", folder=tmp_path / "run")
    assert served.trace == [
        {"epoch": 1, "loss": 2.5, "valid": 0.5},
        {"epoch": 2, "loss": 1.5, "valid": None},
    ]
    (kept,) = served.kept_reports
    assert Setting(kept["split"], kept["context"], kept["ties"]) == report.setting
    assert sorted(served.dataset.entities.names) == sorted(NAMES)
    served.worker.stop()


def test_runs_that_are_called_alike() -> None:
    folders = [Path("a/run"), Path("b/run"), Path("other"), Path("c/run")]
    assert list(name_runs(folders)) == ["run", "run-2", "other", "run-3"]
