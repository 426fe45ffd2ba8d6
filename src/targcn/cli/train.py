"""`targcn train`: from a data set to a run folder."""

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from targcn.cli import options
from targcn.cli.options import open_source
from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.files import free_name, require_absent
from targcn.output.tables import Table
from targcn.output.terminal import say, show

if TYPE_CHECKING:
    from targcn.runs.run import Run

SOURCE = Parameter(
    help="A name (see `data list`), a folder, a file, an address, or - for standard input. "
    "Default: congress."
)


def train(
    source: Annotated[str | None, SOURCE] = None,
    *,
    model: str | None = None,
    recipe: str | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    seed: int | None = None,
    device: options.Device = "auto",
    gaps: Literal["mixed", "facts", "blocks", "none"] = "mixed",
    read: options.HowToRead | None = None,
    **settings: str,
) -> None:
    """Train a model and keep it in a run folder, with its figures on the valid split.

    Several processes train together: torchrun --nproc-per-node=N -m targcn train
    SOURCE --out RUN. They end if one of them is silent for half an hour (docs/scale.md).

    Args:
        model: What to train (see `models`). Default: evidence, or that of the recipe's file.
        recipe: The recipe whose settings to take (see `models NAME`), or a file of one, .toml.
            Default: the one called default.
        out: The run folder to write; it must not exist. Default: a new one under runs/.
        resume: A run folder whose training was stopped and is to go on.
        seed: Seed of everything random. Default: 0.
        gaps: How facts are missing from the data, for the judge of what is true: single facts,
            whole blocks or both; none: it learns when it is first asked (docs/truth.md).
        settings: Any setting of the model or its training (see `models NAME`).
    """
    given = (source, model, recipe, out, seed, read)
    if resume is not None and (settings or any(value is not None for value in given)):
        raise InputError(
            f"--resume goes on with {resume} as it was begun; leave out the data set, --model, "
            "--recipe, --out, --seed and all settings"
        )
    from targcn.models.registry import find_model
    from targcn.recipes.recipe import model_of

    recipe = recipe or "default"
    name = model_of(model, recipe)
    _check_settings(name, find_model(name).Settings, settings)
    from targcn.distributed import join_process_group, was_restarted
    from targcn.training.fit import fit
    from targcn.training.fit import resume as go_on
    from targcn.training.signals import TrainingStopped

    with join_process_group(device) as (processes, place):
        [restarted] = processes.any_process(was_restarted())
        if resume is None:
            if processes.size > 1 and out is None:
                raise InputError(
                    "several processes were started without --out; name a folder, so that they "
                    "find the run again if one of them has to be restarted"
                )
            # The main process first: what it downloads, the others find.
            for is_main in (True, False):
                with processes.barrier():
                    if processes.is_main is is_main:
                        if is_main and out is not None and not restarted:
                            require_absent(out)
                        dataset = open_source(source or "congress", read)
        out = resume or out
        if out is None:
            runs = Path("runs")
            out = runs / free_name(f"{dataset.name}-{name}", lambda given: (runs / given).exists())
        try:
            how: dict[str, Any] = {"device": place, "processes": processes}
            if resume is not None:
                run = go_on(resume, **how)
            else:
                how |= {"recipe": recipe, "seed": seed or 0, "restarted": restarted}
                run = fit(dataset, model, out=out, **how | settings)
        except TrainingStopped as stopped:
            with processes.barrier():
                say(f"{stopped}; go on with: targcn train --resume {out}")
            sys.exit(130)
    if processes.is_main:
        _show_trained(run, out, device)
        if gaps != "none":
            _learn_truth(run, out, gaps)


def _learn_truth(run: "Run", out: Path, gaps: Literal["mixed", "facts", "blocks"]) -> None:
    """Let a judge learn what is true, and keep it with the run."""
    from targcn.runs.judge import with_judge

    try:
        judge = with_judge(run, gaps, out).judge
    except InputError as error:
        # The run is there all the same.
        say(f"warning: what is true was not learned: {error}")
        return
    assert judge is not None
    say(
        f"learned in {float(judge.seconds):,.0f} s what is true, for 'targcn missing {out}' and "
        "for 'is it so?'"
    )


def _show_trained(run: "Run", out: Path, device: str) -> None:
    """Show the validation of a run; one that was not trained is validated now."""
    from targcn.evaluation.report import report_table
    from targcn.runs.evaluate import evaluate
    from targcn.runs.store import write_result

    report = run.validation
    if report is None and len(run.dataset.valid):
        report = evaluate(run, split="valid", device=device)
        write_result(run, out, [report])
    if report is not None:
        show(report_table(report))
    elif run.trained is not None:
        show(f"no valid split: the weights after all {run.trained.epochs} epochs are kept")
    if len(run.dataset.test):
        show(f"kept in {out}; evaluate it on test with: targcn evaluate {out}")
    else:
        show(f"kept in {out}; ask it with: targcn predict {out} SUBJECT RELATION '?' TIME")


def _check_settings(model: str, known: type, given: Mapping[str, str]) -> None:
    """Refuse, before any data is read, an option that neither `train` nor the model knows."""
    from targcn.facts.vocabulary import suggest
    from targcn.recipes.training_settings import TrainingSettings

    settings = [field.name for field in (*fields(known), *fields(TrainingSettings))]
    for written in given:
        name = written.replace("-", "_")
        if name not in settings:
            flags = ("model", "recipe", "out", "resume", "seed", "device", "gaps")
            known_options = [*flags, *(field.name for field in fields(ReadOptions))]
            nearest = suggest(name, settings + known_options, limit=1)
            option = nearest[0].replace("_", "-") if nearest else ""
            hint = f"did you mean --{option}?" if nearest else f"see 'targcn models {model}'"
            raise InputError(f"--{written} is no option of {model}; {hint}")


def list_models(name: str | None = None, /) -> None:
    """List what can be trained, or the settings and recipes of one model.

    Args:
        name: A model whose settings to show.
    """
    from targcn.models.registry import MODELS, find_model

    if name is None:
        rows = [(known, entry.summary) for known, entry in MODELS.items()]
        show(Table.of_text(["model", "what it does"], rows))
        return
    from targcn.recipes.describe import describe_settings, describe_training
    from targcn.recipes.recipe import find_recipe, list_recipes

    find_model(name)
    show(MODELS[name].summary)
    described_settings = [
        (setting.flag, str(setting.default), setting.meaning)
        for setting in [*describe_settings(name), *describe_training(name)]
    ]
    show(Table.of_text(["setting", "default", "meaning"], described_settings))
    recipes = [
        (recipe, dataset or "any", find_recipe(name, recipe, dataset).about)
        for recipe, dataset in list_recipes(name)
    ]
    if recipes:
        show(Table.of_text(["recipe", "data set", "what it is"], recipes))
