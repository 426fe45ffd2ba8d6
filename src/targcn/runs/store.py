"""Run folders: a run on disk, and back.

    run.json             recipe, seed, versions
    data/                the data set, prepared: a run can be moved and still answers
    weights.safetensors  the best weights so far, where the model has any
    state.safetensors    where its training stands: weights, optimiser, position
    metrics.json         the reports so far, and how long training took
    trace.jsonl          one line per epoch and per validation
    truth-….safetensors  what says which facts are true
    README.md            the same for people
    members/NAME/        a fused run's members, each a run folder

The folder appears whole, and every file in it is replaced whole. No pickle is ever read.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from torch import Tensor
from torch.random import fork_rng

from targcn import __version__
from targcn.config import build
from targcn.devices import SizeWatch
from targcn.errors import DamagedError, InputError
from targcn.evaluation.report import Report
from targcn.facts.dataset import Dataset
from targcn.files import (
    atomic_file,
    atomic_folder,
    parse_json,
    read_json,
    require_plain,
    require_unicode,
    to_json,
)
from targcn.models.base import Model, ModelSettings
from targcn.models.fused import FUSED, FusedSettings
from targcn.models.registry import create
from targcn.recipes.recipe import make_recipe
from targcn.runs.card import write_card
from targcn.runs.judge import read_judge, write_judge
from targcn.runs.run import Run, TrainingRecord, fused_run
from targcn.runs.tensors import Expected, expect_like, read_tensors, write_tensors

MANIFEST: Final = "run.json"
WEIGHTS: Final = "weights.safetensors"
STATE: Final = "state.safetensors"
REPORTS: Final = "metrics.json"
TRACE: Final = "trace.jsonl"
MEMBERS: Final = "members"
# 2: recipes, `dim`, and the layers of TARGCN have got their present names.
FORMAT: Final = 2
# No whole number among the settings of a model is larger, unless its data are.
MOST_COUNTED: Final = 1 << 20
# No tensor of a model is larger than its file of weights by more than this.
FREE_BYTES: Final = 1 << 20


def save_run(run: Run, folder: Path | str, reports: Sequence[Report] = ()) -> None:
    """Write a run folder with the reports so far; a fused run brings its members."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "targcn": __version__,
        "model": run.recipe.model,
        "recipe": run.recipe.name,
        "settings": asdict(run.recipe.settings),
        "training": asdict(run.recipe.training),
        "seed": run.seed,
        "python": platform.python_version(),
    }
    if run.members:
        manifest["members"] = list(run.members)
    with atomic_folder(Path(folder)) as draft:
        for name, member in run.members.items():
            save_run(
                member, draft / MEMBERS / name, [member.validation] if member.validation else []
            )
        (draft / "data").mkdir()
        run.dataset.write_into(draft / "data")
        (draft / MANIFEST).write_text(to_json(manifest, indent=2), encoding="utf-8")
        write_result(run, draft, reports)
        if run.judge is not None:
            write_judge(draft, run.judge)


def write_result(run: Run, folder: Path, reports: Sequence[Report]) -> None:
    """Put the present weights of a run, its record and its reports into its folder."""
    weights = run.model.state_dict()
    if not run.members and weights:
        write_tensors(folder / WEIGHTS, weights)
    result = {
        "trained": asdict(run.trained) if run.trained else {},
        "reports": [report.to_json() for report in reports],
    }
    with atomic_file(folder / "README.md") as draft:
        draft.write_text(write_card(run, reports), encoding="utf-8")
    # The last, since it may say that training has finished.
    with atomic_file(folder / REPORTS) as draft:
        draft.write_text(to_json(result, indent=2), encoding="utf-8")


def load_run(folder: Path | str) -> Run:
    """Read a run folder."""
    folder = Path(folder)
    require_unicode(folder)
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not a run: it has no {MANIFEST}; 'targcn train' makes one")
    require_plain(folder)
    try:
        manifest = read_json(folder / MANIFEST)
        if (stored := manifest["format"]) != FORMAT:
            raise ValueError(f"its format is {stored}, this version reads {FORMAT}")
        name, seed = str(manifest["model"]), int(manifest["seed"])
        settings, training = dict(manifest["settings"]), dict(manifest["training"])
        recipe_name = str(manifest["recipe"])
        members = [str(member) for member in manifest.get("members", ())]
        if any(Path(member).name != member or member == ".." for member in members):
            raise ValueError(f"its members are {members}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"{folder / MANIFEST} is damaged or of another version ({error}); train the run again"
        ) from None
    dataset = Dataset.load(folder / "data")
    if name == FUSED:
        runs = {member: load_run(folder / MEMBERS / member) for member in members}
        return fused_run(dataset, runs, build(FusedSettings, settings, name), seed)
    try:
        recipe = make_recipe(name, recipe_name, settings, training)
    except InputError as error:
        raise DamagedError(f"{folder / MANIFEST}: {error}") from None
    model = _create_model(folder, name, dataset, recipe.settings)
    if expected := expect_like(model.state_dict()):
        model.load_state_dict(read_tensors(folder / WEIGHTS, expected)[0])
    record, judge = read_record(folder), read_judge(folder, len(dataset.relations))
    return Run(recipe, seed, dataset, model, record, judge=judge)


def _create_model(folder: Path, name: str, dataset: Dataset, settings: ModelSettings) -> Model:
    """The model of a run before it has its weights, if it can be what the folder says."""
    unlikely = DamagedError(
        f"the settings in {folder / MANIFEST} are those of no model that could be made; train the "
        "run again"
    )
    weights = folder / WEIGHTS
    most = FREE_BYTES + (weights.stat().st_size if weights.is_file() else 0)

    def check(size: int) -> None:
        if size > most:
            raise unlikely

    # Some settings size what is no weight: how many facts are looked at, or how far away.
    num_facts = sum(map(len, dataset.splits.values()))
    largest = max(MOST_COUNTED, num_facts, *dataset.timeline.ticks[-1:].tolist())
    numbers = [value for value in asdict(settings).values() if isinstance(value, int)]
    if max(numbers, default=0) > largest:
        raise unlikely
    # The initial weights are replaced at once; torch's generator is left as it was.
    with fork_rng(devices=[]), SizeWatch(check):
        return create(name, dataset, settings)


def is_run(source: object) -> bool:
    """Whether this is the folder of a run."""
    return isinstance(source, str | Path) and (Path(source) / MANIFEST).is_file()


def open_run(run: Run | Path | str) -> Run:
    """The run itself, or the one in a folder."""
    if isinstance(run, Run):
        return run
    if isinstance(run, str | Path):
        return load_run(run)
    raise InputError(
        f"a {type(run).__name__} is no run; give a run, as targcn.fit does, or a run folder"
    )


def is_unfinished(folder: Path | str) -> bool:
    """Whether the training of a run was begun and has not ended."""
    record = read_record(Path(folder))
    return not record.finished if record else (Path(folder) / STATE).exists()


def read_record(folder: Path) -> TrainingRecord | None:
    """How far, how long and on what a run was trained, as its folder says."""
    path = folder / REPORTS
    try:
        trained = read_json(path)["trained"]
        return build(TrainingRecord, trained, "trained") if trained else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path} is damaged ({error}); train the run again") from None


def write_state(folder: Path, tensors: Mapping[str, Tensor], position: Mapping[str, Any]) -> None:
    """Keep where a training stands, in one file that is replaced in one step."""
    write_tensors(folder / STATE, tensors, {"position": to_json(position)})


def read_state(
    folder: Path, expected: Mapping[str, Expected]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the position of a saved state; both empty where none was saved yet."""
    path = folder / STATE
    if not path.exists():
        return {}, {}
    tensors, metadata = read_tensors(path, expected)
    try:
        return tensors, dict(parse_json(metadata["position"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(
            f"{path} does not say where it stands ({error}); train it again"
        ) from None
