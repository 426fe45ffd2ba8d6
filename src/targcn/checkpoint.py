"""A run: a model, how it was made, and the data it belongs to, kept in one folder.

    run.json             model, settings, training, seed, versions
    data/                the data set, prepared (dataset.py): a run can be moved and still answers
    weights.safetensors  the best weights so far, where the model has any
    state.safetensors    where its training stands: weights, optimiser, position
    metrics.json         the figures taken so far, and how long training took
    trace.jsonl          one line per epoch and per look at the valid split
    README.md            the same for people

The folder appears whole, and each file in it is replaced whole. Next room: evaluation.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from torch import Tensor
from torch.random import fork_rng

from targcn import __version__
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.files import atomic_file, atomic_folder
from targcn.models import create

MANIFEST: Final = "run.json"
WEIGHTS: Final = "weights.safetensors"
STATE: Final = "state.safetensors"
METRICS: Final = "metrics.json"
FORMAT: Final = 1


@dataclass(frozen=True, eq=False)
class Run:
    """A model with its data set; what `fit` gives and what a run folder holds."""

    model_name: str
    settings: Any
    seed: int
    dataset: Dataset
    model: Any
    # The run file it was made from, and how it was trained (training.Training as a mapping).
    run_name: str = "default"
    training: Mapping[str, Any] = field(default_factory=dict)
    # What training made of it on the valid split, context train (evaluation.Report), if it did.
    report: Any = None
    # How far it was trained, how long and on what; empty where it was not, or nobody knows.
    trained: Mapping[str, Any] = field(default_factory=dict)

    @property
    def num_parameters(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())


def save_run(run: Run, folder: Path | str, reports: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write a run folder, with the reports of the figures taken so far."""
    manifest = {
        "format": FORMAT,
        "targcn": __version__,
        "model": run.model_name,
        "run": run.run_name,
        "settings": asdict(run.settings),
        "training": dict(run.training),
        "seed": run.seed,
        "python": platform.python_version(),
    }
    with atomic_folder(Path(folder)) as draft:
        (draft / "data").mkdir()
        run.dataset.write_into(draft / "data")
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        write_result(run, draft, run.trained, reports)


def write_result(
    run: Run, folder: Path, trained: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> None:
    """Put the present weights and figures of a run into its folder."""
    weights = run.model.state_dict()
    if weights:
        from safetensors.torch import save_file

        with atomic_file(folder / WEIGHTS) as draft:
            save_file({name: value.cpu().contiguous() for name, value in weights.items()}, draft)
    result = {"trained": dict(trained), "reports": list(reports)}
    with atomic_file(folder / METRICS) as draft:
        draft.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    with atomic_file(folder / "README.md") as draft:
        draft.write_text(_card(run, trained, reports), encoding="utf-8")


def load_run(folder: Path | str) -> Run:
    """Read a run folder."""
    folder = Path(folder)
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not a run: it has no {MANIFEST}; 'targcn train' makes one")
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        stored_format, name = manifest["format"], str(manifest["model"])
        settings, seed = dict(manifest["settings"]), int(manifest["seed"])
        run_name, training = str(manifest["run"]), dict(manifest["training"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / MANIFEST} is damaged ({error}); train the run again") from None
    if stored_format != FORMAT:
        raise InputError(
            f"{folder} is a run of format {stored_format}, this version reads {FORMAT}; train it "
            "again or use the targcn version that its run.json names"
        )
    dataset = Dataset.load(folder / "data")
    # The weights it is made with are replaced at once; drawing them must disturb nobody's.
    with fork_rng(devices=[]):
        model = create(name, dataset, settings)
    if model.state_dict():
        _load_weights(model, folder / WEIGHTS)
    trained = trained_in(folder)
    return Run(name, model.settings, seed, dataset, model, run_name, training, trained=trained)


def is_unfinished(folder: Path | str) -> bool:
    """Whether a run's training was begun and not ended, as its folder says."""
    folder = Path(folder)
    return not trained_in(folder).get("finished", not (folder / STATE).exists())


def trained_in(folder: Path) -> dict[str, Any]:
    """How far, how long and on what a run was trained, as its folder says."""
    path = folder / METRICS
    try:
        trained = json.loads(path.read_text(encoding="utf-8"))["trained"]
        if not trained:
            return {}
        return {
            "epochs": int(trained["epochs"]),
            "best_epoch": int(trained["best_epoch"]),
            "seconds": float(trained["seconds"]),
            "device": str(trained["device"]),
            # Runs from before it was written down do not say.
            "finished": bool(trained.get("finished", not (folder / STATE).exists())),
        }
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}); train the run again") from None


def _load_weights(model: Any, path: Path) -> None:
    weights, _ = _read_tensors(path)
    _require_fit(path, weights, model.state_dict())
    model.load_state_dict(weights)


def _require_fit(path: Path, stored: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> None:
    wanted = {name: tuple(value.shape) for name, value in like.items()}
    found = {name: tuple(value.shape) for name, value in stored.items()}
    if wanted != found:
        wrong = next(name for name in wanted | found if wanted.get(name) != found.get(name))
        raise InputError(
            f"{path} does not fit its run: {wrong} is {found.get(wrong, 'missing')} where "
            f"{wanted.get(wrong, 'nothing')} was expected; train the run again"
        )


def write_state(folder: Path, tensors: Mapping[str, Tensor], position: Mapping[str, Any]) -> None:
    """Keep where a training stands, in one file, replaced in one step."""
    from safetensors.torch import save_file

    contents = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_file(folder / STATE) as draft:
        save_file(contents, draft, metadata={"position": json.dumps(position)})


def read_state(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the position of a saved state; both empty where none was saved yet."""
    path = folder / STATE
    if not path.exists():
        return {}, {}
    tensors, metadata = _read_tensors(path)
    best, _ = _read_tensors(folder / WEIGHTS)
    present = {name: value for name, value in tensors.items() if name.startswith("model/")}
    _require_fit(path, present, {f"model/{name}": value for name, value in best.items()})
    try:
        return tensors, dict(json.loads(metadata["position"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} does not say where it stands ({error}); train it again") from None


def _read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            return tensors, stored.metadata() or {}
    except (OSError, SafetensorError) as error:
        reason = "missing" if isinstance(error, FileNotFoundError) else "cut short or damaged"
        raise InputError(f"{path} is {reason}; train the run again") from None


def _card(run: Run, trained: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> str:
    dataset = run.dataset
    lines = [
        f"# {run.model_name} on {dataset.name}",
        "",
        f"Made by targcn {__version__} (Python {platform.python_version()}), run {run.run_name}, "
        f"seed {run.seed}; {run.num_parameters:,} parameters.",
        *_how_trained(trained, run.training),
        "",
        f"Data: {len(dataset.train):,} / {len(dataset.valid):,} / {len(dataset.test):,} facts "
        f"(train / valid / test), {len(dataset.entities):,} entities, "
        f"{len(dataset.relations):,} relations, {len(dataset.timeline.ticks):,} times from "
        f"{dataset.timeline.first} to {dataset.timeline.last} by {dataset.timeline.unit}.",
        *(f"Note: {note}." for note in dataset.notes),
        "",
        f"Settings: {_listed(asdict(run.settings))}",
        "",
    ]
    for report in reports:
        lines += [
            f"Figures on {report['split']}, context {report['context']}, {report['ties']} rank on "
            f"ties, {report['num_queries']:,} queries, both directions:",
            "",
            "| filter | MRR | Hits@1 | Hits@3 | Hits@10 | mean rank |",
            "|---|---|---|---|---|---|",
        ]
        for which, sides in report["metrics"].items():
            both = sides["both"]
            hits = " | ".join(f"{both[f'hits@{most}']:.3f}" for most in (1, 3, 10))
            lines.append(f"| {which} | {both['mrr']:.3f} | {hits} | {both['mean_rank']:,.1f} |")
        lines.append("")
    lines += [
        "Load it with `targcn.load_run(FOLDER)`, judge it with `targcn evaluate FOLDER`.",
        "The folder `data/` holds the facts themselves: mind their terms before you publish it.",
        "",
    ]
    return "\n".join(lines)


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "none"


def _how_trained(trained: Mapping[str, Any], training: Mapping[str, Any]) -> list[str]:
    if not trained or not trained["epochs"]:
        return []
    return [
        f"Trained {trained['epochs']} epochs in {trained['seconds']:,.0f} s on "
        f"{trained['device']}; the best, kept here, was epoch {trained['best_epoch']}.",
        f"Training: {_listed(training)}.",
    ]
