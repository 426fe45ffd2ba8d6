"""A run: a model, how it was made, and the data it belongs to, kept in one folder.

    run.json      model, settings, seed, versions
    data/         the data set, prepared (dataset.py), so that a run can be moved and still answers
    metrics.json  the figures taken when it was made
    README.md     the same for people

The folder appears whole or not at all. Next room: evaluation, prediction.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from targcn import __version__
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.files import atomic_folder
from targcn.models import create

MANIFEST: Final = "run.json"
FORMAT: Final = 1


@dataclass(frozen=True, eq=False)
class Run:
    """A model with its data set; what `fit` gives and what a run folder holds."""

    model_name: str
    settings: Any
    seed: int
    dataset: Dataset
    model: Any


def save_run(run: Run, folder: Path | str, reports: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write a run folder, with the reports of the figures taken so far."""
    manifest = {
        "format": FORMAT,
        "targcn": __version__,
        "model": run.model_name,
        "settings": asdict(run.settings),
        "seed": run.seed,
        "python": platform.python_version(),
    }
    with atomic_folder(Path(folder)) as draft:
        (draft / "data").mkdir()
        run.dataset.write_into(draft / "data")
        for name, content in ((MANIFEST, manifest), ("metrics.json", list(reports))):
            (draft / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (draft / "README.md").write_text(_card(run, manifest, reports), encoding="utf-8")


def load_run(folder: Path | str) -> Run:
    """Read a run folder."""
    folder = Path(folder)
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not a run: it has no {MANIFEST}; 'targcn train' makes one")
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        stored_format, name = manifest["format"], manifest["model"]
        settings, seed = manifest["settings"], int(manifest["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / MANIFEST} is damaged ({error}); train the run again") from None
    if stored_format != FORMAT:
        raise InputError(
            f"{folder} is a run of format {stored_format}, this version reads {FORMAT}; train it "
            "again or use the targcn version that its run.json names"
        )
    dataset = Dataset.load(folder / "data")
    model = create(name, dataset, settings)
    return Run(name, model.settings, seed, dataset, model)


def _card(run: Run, manifest: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> str:
    dataset = run.dataset
    lines = [
        f"# {run.model_name} on {dataset.name}",
        "",
        f"Made by targcn {manifest['targcn']} (Python {manifest['python']}), seed {run.seed}.",
        "",
        f"Data: {len(dataset.train):,} / {len(dataset.valid):,} / {len(dataset.test):,} facts "
        f"(train / valid / test), {len(dataset.entities):,} entities, "
        f"{len(dataset.relations):,} relations, {len(dataset.timeline.ticks):,} times from "
        f"{dataset.timeline.first} to {dataset.timeline.last} by {dataset.timeline.unit}.",
        *(f"Note: {note}." for note in dataset.notes),
        "",
        "Settings: "
        + (", ".join(f"{name} {value}" for name, value in manifest["settings"].items()) or "none"),
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
