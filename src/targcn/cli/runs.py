"""`targcn models`, `train` and `evaluate`: from a data set to a judged run."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from targcn.cli.common import (
    AsJson,
    ContextOfSplit,
    Device,
    HowToRead,
    load_folder,
    open_source,
    warn_if_in_sight,
)
from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.terminal import counting, say, show, show_json, show_report, table_of, training_bar

if TYPE_CHECKING:
    from targcn.checkpoint import Run


def list_models(name: str | None = None, /) -> None:
    """List what can be trained, or the settings of one model.

    Parameters
    ----------
    name
        A model whose settings are to be shown.
    """
    from targcn.models import MODELS, find_model

    if name is None:
        table = table_of("model", "what it does")
        for known, entry in MODELS.items():
            table.add_row(known, entry.summary)
        show(table)
        return
    from docstring_parser import parse_from_object

    from targcn.runs import find_run, list_runs
    from targcn.training import Training

    model = find_model(name)
    show(MODELS[name].summary)
    trained = [Training] if hasattr(model, "loss") else []
    # What `train` takes if nothing else is said; the sets that a run is made for have their own.
    usual = find_run(name, "default", "")
    taken = {**usual.settings, **usual.training}
    # A setting that a model describes anew is described by the last to do so.
    described = {}
    for settings in (*reversed(model.Settings.__mro__[:-1]), *trained):
        for parameter in parse_from_object(settings).params:
            default = taken.get(parameter.arg_name, getattr(settings(), parameter.arg_name))
            described[parameter.arg_name] = (str(default), parameter.description or "")
    table = table_of("setting", "default", "meaning")
    for setting, words in described.items():
        table.add_row("--" + setting.replace("_", "-"), *words)
    show(table)
    if list_runs(name):
        runs = table_of("run", "data set", "MRR to reach on test", "what it is")
        for run, of in list_runs(name):
            file = find_run(name, run, of)
            wanted = [f"{figures[0]} {which}" for which, figures in file.figures.items()]
            runs.add_row(run, of or "any", ", ".join(wanted), file.about)
        show(runs)


def train(
    source: str = "congress",
    *,
    model: str = "targcn",
    run: str = "default",
    out: Path | None = None,
    resume: Path | None = None,
    seed: int = 0,
    device: Device = "auto",
    tensorboard: Annotated[bool, Parameter(negative="")] = False,
    read: HowToRead | None = None,
    **settings: str,
) -> None:
    """Train a model and keep it in a run folder, with its figures on the valid split.

    Parameters
    ----------
    source
        A name, a folder, or a file.
    model
        What to train (see `models`).
    run
        The published run whose settings to take (see `models NAME`).
    out
        The run folder to write; it must not exist. Left out: a new one under runs/.
    resume
        A run folder to go on with, as if it had never been stopped.
    seed
        Seed of everything that is drawn.
    tensorboard
        Write curves for TensorBoard into a folder beside the run's.
    settings
        Any setting of the model or its training (see `models NAME`).
    """
    from targcn.models import find_model

    if resume is not None:
        given = (source, model, run, out, seed, read or Reading(), settings)
        if given != ("congress", "targcn", "default", None, 0, Reading(), {}):
            raise InputError(
                f"--resume goes on with {resume} as it was begun; leave out the data set, --model, "
                "--run, --out, --seed and all settings"
            )
    _check_settings(model, find_model(model).Settings, settings)
    from targcn.distributed import join, was_restarted
    from targcn.files import require_absent
    from targcn.fitting import fit
    from targcn.fitting import resume as go_on
    from targcn.training import TrainingStopped

    with join(device) as (team, place):
        [restarted] = team.anyone(was_restarted())
        if resume is None:
            if team.size > 1 and out is None:
                raise InputError(
                    "several processes were started, but no --out given; name a folder, so that "
                    "they find the run again if one of them has to be restarted"
                )
            # The leader first: what it has to download, the others find.
            for leader in (True, False):
                with team.together():
                    if team.leads is leader:
                        if leader and out is not None and not restarted:
                            require_absent(out)
                        dataset = open_source(source, read)
        out = resume or out or _free_folder(Path("runs"), f"{dataset.name}-{model}")
        try:
            with training_bar() as watch:
                with team.together():
                    if tensorboard and team.leads:
                        from targcn.tracking import tensorboard_watch

                        # Beside the run folder, which training makes whole.
                        watch = tensorboard_watch(Path(f"{out.resolve()}-tensorboard"), watch)
                if resume is not None:
                    trained = go_on(resume, device=place, watch=watch, team=team)
                else:
                    options: dict[str, Any] = dict(settings)
                    trained = fit(
                        dataset,
                        model,
                        run=run,
                        seed=seed,
                        out=out,
                        device=place,
                        watch=watch,
                        team=team,
                        restarted=restarted,
                        **options,
                    )
        except TrainingStopped as stopped:
            with team.together():
                say(f"{stopped}; go on with: targcn train --resume {out}")
            sys.exit(130)
    if team.leads:
        _show_trained(trained, out, device)


def _show_trained(trained: "Run", out: Path, device: str) -> None:
    """The figures of a run on the valid split, which one that learns has already."""
    report = trained.report
    if report is None and len(trained.dataset.valid):
        from targcn.checkpoint import write_result
        from targcn.evaluation import evaluate

        with counting("judging valid", "queries") as progress:
            report = evaluate(
                trained, split="valid", context="train", device=device, progress=progress
            )
        write_result(trained, out, {}, [report.to_json()])
    if report is not None:
        show_report(report)
    show(f"kept in {out}; judge it on test with: targcn evaluate {out}")


def evaluate_run(
    run: Path,
    *,
    split: Literal["train", "valid", "test"] = "test",
    context: ContextOfSplit = None,
    ties: Literal["optimistic", "mean", "pessimistic"] = "mean",
    by_relation: Annotated[bool, Parameter(negative="")] = False,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Judge a run: ranks under the raw, static and time-aware filters, side by side.

    Parameters
    ----------
    run
        A run folder, as `train` writes it.
    split
        The facts to ask about.
    ties
        The rank of an answer among equal scores.
    by_relation
        Show the figures of every relation too.
    """
    from targcn.distributed import join
    from targcn.evaluation import evaluate

    with join(device) as (team, place), counting(f"judging {split}", "queries") as progress:
        with team.together():
            loaded = load_folder(run)
            warn_if_in_sight(split, context, loaded.model.reads_context)
        report = evaluate(
            loaded,
            split=split,
            context=context,
            ties=ties,
            device=place,
            progress=progress,
            team=team,
        )
    if not team.leads:
        return
    if json:
        show_json(report.to_json(by_relation))
        return
    show_report(report)
    if by_relation:
        table = table_of("relation", "queries", "raw MRR", "static MRR", "time-aware MRR")
        ordered = sorted(
            report.by_relation.items(), key=lambda item: -item[1]["raw"]["num_queries"]
        )
        for name, filters in ordered:
            figures = (f"{filters[which]['mrr']:.3f}" for which in filters)
            table.add_row(name, f"{filters['raw']['num_queries']:,.0f}", *figures)
        show(table)


def _check_settings(model: str, known: type, given: Mapping[str, str]) -> None:
    """Refuse, before any data is read, a flag that neither `train` nor the model knows."""
    from dataclasses import fields

    from targcn.facts.vocabulary import suggest
    from targcn.training import Training

    settings = [field.name for field in (*fields(known), *fields(Training))]
    for written in given:
        name = written.replace("-", "_")
        if name not in settings:
            own = ("model", "run", "out", "resume", "seed", "device", "tensorboard")
            flags = [*own, *(field.name for field in fields(Reading))]
            nearest = suggest(name, settings + flags, limit=1)
            flag = nearest[0].replace("_", "-") if nearest else ""
            hint = f"did you mean --{flag}?" if nearest else f"see 'targcn models {model}'"
            raise InputError(f"--{written} is no option of {model}; {hint}")


def _free_folder(parent: Path, name: str) -> Path:
    numbered = (
        parent / (name if number == 1 else f"{name}-{number}") for number in range(1, 10**6)
    )
    return next(folder for folder in numbered if not folder.exists())
