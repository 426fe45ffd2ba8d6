"""The command line: every command is a few lines over the library.

Nothing heavy is imported before a command needs it. An InputError, or a flag that is not known,
prints one sentence and exits with 2.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from targcn import __version__
from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.terminal import (
    counting,
    receiving,
    shape_of,
    show,
    show_json,
    show_report,
    table_of,
    training_bar,
)

if TYPE_CHECKING:
    from targcn.facts.dataset import Dataset

app = App(
    name="targcn",
    help="Complete a temporal knowledge graph: rank the missing facts among dated ones.",
    version=f"targcn {__version__}",
    help_format="plaintext",
)
data = App(name="data", help="List, describe, prepare and derive data sets.")
app.command(data)

HowToRead = Annotated[Reading, Parameter(name="*")]
AsJson = Annotated[bool, Parameter(name="--json", negative="")]
Context = Literal["train", "train+valid"]


@data.command(name="list")
def list_data() -> None:
    """Show the named data sets: size, terms, and whether they are here or how to get them."""
    from targcn.facts.catalog import CATALOG, find_local
    from targcn.facts.opening import EMBEDDED

    table = table_of("name", "train / valid / test", "entities", "relations", "times", "where")
    embedded = _open(EMBEDDED, Reading())
    table.add_row(*shape_of(embedded), "embedded")
    for named in CATALOG.values():
        facts = " / ".join(f"{count:,}" for count in named.num_facts)
        counts = (named.num_entities, named.num_relations, named.num_times)
        place = "here" if find_local(named.name) else "downloaded on first use"
        table.add_row(named.name, facts, *(f"{count:,}" for count in counts), place)
    show(table)
    show(
        f"{EMBEDDED}: the US Congress since 1945, from the CC0 data of congress-legislators\n"
        + "\n".join(f"{one.name}: {one.summary}; {one.licence}" for one in CATALOG.values())
        + "\nA set in a folder named by TARGCN_DATA comes first, then TARGCN_CACHE, then the web."
    )


@data.command(name="info")
def describe_data(
    source: str = "congress", *, read: HowToRead | None = None, json: AsJson = False
) -> None:
    """Describe a data set.

    Parameters
    ----------
    source
        A name (see `data list`), a folder, or a file.
    json
        Print JSON for programs.
    """
    dataset = _open(source, read)
    description = _describe(dataset)
    if json:
        show_json(description)
        return
    time = description["time"]
    table = table_of("name", "train / valid / test", "entities", "relations", "times", "by")
    table.add_row(*shape_of(dataset), time["unit"])
    show(table)
    show(
        f"from {time['first']} to {time['last']}; {description['num_unseen']:,} test facts name an "
        "entity that train does not"
    )
    for note in dataset.notes:
        show(f"note: {note}")
    common = table_of("most common relations", "facts", "for example")
    for relation in description["relations"][:8]:
        example = relation["example"]
        common.add_row(
            relation["name"],
            f"{relation['num_facts']:,}",
            f"{example[0]} — {example[2]}, {example[3]}",
        )
    show(common)


@data.command(name="prepare")
def prepare_data(source: str, *, out: Path, read: HowToRead | None = None) -> None:
    """Parse a data set once; every later command reads the folder without parsing.

    Parameters
    ----------
    source
        A name, a folder, or a file.
    out
        The folder to write; it must not exist.
    """
    from time import perf_counter

    from targcn.files import require_absent

    require_absent(out)
    start = perf_counter()
    dataset = _open(source, read)
    dataset.save(out)
    seconds = perf_counter() - start
    num_facts = sum(len(facts) for facts in dataset.splits.values())
    show(
        f"{out}: {num_facts:,} facts, {len(dataset.entities):,} entities, "
        f"{len(dataset.relations):,} relations, {len(dataset.timeline.ticks):,} times by "
        f"{dataset.timeline.unit} ({seconds:.1f} s, {num_facts / seconds:,.0f} facts/s)"
    )
    for note in dataset.notes:
        show(f"note: {note}")


@data.command(name="derive")
def derive_data(
    kind: Literal["unseen", "irregular"],
    source: str,
    *,
    out: Path,
    seed: int = 0,
    read: HowToRead | None = None,
) -> None:
    """Make a harder data set of a given one, as the paper does of ICEWS14.

    Parameters
    ----------
    kind
        unseen: ask about times that training has no facts of; irregular: keep times 1 to 4 apart.
    source
        A name, a folder, or a file.
    out
        The folder to write; it must not exist.
    seed
        Seed of what is drawn.
    """
    from targcn.facts.derive import derive_irregular, derive_unseen
    from targcn.files import require_absent

    require_absent(out)
    derive = derive_unseen if kind == "unseen" else derive_irregular
    derived = derive(_open(source, read), seed)
    derived.save(out)
    table = table_of("name", "train / valid / test", "entities", "relations", "times")
    table.add_row(*shape_of(derived))
    show(table)
    show(f"{out}: {derived.notes[0]}")


@app.command(name="models")
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

    from targcn.runs import FOLDER, list_runs, read_run
    from targcn.training import Training

    model = find_model(name)
    show(MODELS[name].summary)
    table = table_of("setting", "default", "meaning")
    learns = hasattr(model, "loss")
    for settings in (*reversed(model.Settings.__mro__[:-1]), *([Training] if learns else [])):
        for parameter in parse_from_object(settings).params:
            flag = "--" + parameter.arg_name.replace("_", "-")
            default = getattr(model.Settings(), parameter.arg_name, None)
            default = getattr(settings(), parameter.arg_name) if settings is Training else default
            table.add_row(flag, str(default), parameter.description or "")
    show(table)
    if list_runs(name):
        runs = table_of("run", "data set", "what it is")
        for run, of in list_runs(name):
            path = FOLDER / name / f"{run}-{of}.toml" if of else FOLDER / name / f"{run}.toml"
            runs.add_row(run, of or "any", read_run(path, run).about)
        show(runs)


@app.command(name="train")
def train(
    source: str = "congress",
    *,
    model: str = "targcn",
    run: str = "default",
    out: Path | None = None,
    resume: Path | None = None,
    seed: int = 0,
    device: str = "auto",
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
    device
        auto, cpu or cuda.
    settings
        Any setting of the model or its training (see `models NAME`).
    """
    from targcn.models import find_model

    _check_settings(model, find_model(model).Settings, settings)
    from targcn.checkpoint import write_result
    from targcn.evaluation import evaluate
    from targcn.files import require_absent
    from targcn.training import TrainingStopped, fit, module_learns
    from targcn.training import resume as go_on

    if resume is None:
        if out is not None:
            require_absent(out)
        dataset = _open(source, read)
        out = out or _free_folder(Path("runs"), f"{dataset.name}-{model}")
    else:
        out = resume
    try:
        with training_bar() as watch:
            if resume is not None:
                trained = go_on(resume, device=device, watch=watch)
            else:
                options: dict[str, Any] = dict(settings)
                trained = fit(
                    dataset,
                    model,
                    run=run,
                    seed=seed,
                    out=out,
                    device=device,
                    watch=watch,
                    **options,
                )
    except TrainingStopped as stopped:
        print(f"targcn: {stopped}; go on with: targcn train --resume {out}", file=sys.stderr)
        sys.exit(130)
    with counting("judging valid", "queries") as progress:
        report = evaluate(trained, split="valid", context="train", device=device, progress=progress)
    if not module_learns(trained.model):
        write_result(trained, out, {}, [report.to_json()])
    show_report(report)
    show(f"kept in {out}; judge it on test with: targcn evaluate {out}")


@app.command(name="evaluate")
def evaluate_run(
    run: Path,
    *,
    split: Literal["train", "valid", "test"] = "test",
    context: Context = "train+valid",
    ties: Literal["optimistic", "mean", "pessimistic"] = "mean",
    by_relation: Annotated[bool, Parameter(negative="")] = False,
    device: str = "auto",
    json: AsJson = False,
) -> None:
    """Judge a run: ranks under the raw, static and time-aware filters, side by side.

    Parameters
    ----------
    run
        A run folder, as `train` writes it.
    split
        The facts to ask about.
    context
        The facts the model may look at.
    ties
        The rank of an answer among equal scores.
    by_relation
        Show the figures of every relation too.
    device
        auto, cpu or cuda.
    json
        Print JSON for programs.
    """
    if not run.exists():
        raise InputError(f"there is no run {run}; 'targcn train --out {run}' makes one")
    from targcn.checkpoint import load_run
    from targcn.evaluation import evaluate

    loaded = load_run(run)
    with counting(f"judging {split}", "queries") as progress:
        report = evaluate(
            loaded, split=split, context=context, ties=ties, device=device, progress=progress
        )
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the exit code is 2 for anything a user can put right."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except InputError as error:
        _complain(str(error))
    except CycloptsError as error:
        _complain(" ".join(str(error).split()))
    except BrokenPipeError:
        sys.stderr.close()
    except KeyboardInterrupt:
        print("targcn: stopped", file=sys.stderr)
        sys.exit(130)


def _complain(sentence: str) -> None:
    print(f"targcn: {sentence}", file=sys.stderr)
    sys.exit(2)


def _open(source: str, read: Reading | None) -> "Dataset":
    from targcn.facts.opening import open_dataset

    with receiving() as progress:
        return open_dataset(source, read, progress)


def _check_settings(model: str, known: type, given: Mapping[str, str]) -> None:
    """Refuse, before any data is read, a flag that neither `train` nor the model knows."""
    from dataclasses import fields

    from targcn.facts.vocabulary import suggest
    from targcn.training import Training

    settings = [field.name for field in (*fields(known), *fields(Training))]
    for written in given:
        name = written.replace("-", "_")
        if name not in settings:
            own = ("model", "run", "out", "resume", "seed", "device")
            flags = [*own, *(field.name for field in fields(Reading))]
            nearest = suggest(name, settings + flags, limit=1)
            flag = nearest[0].replace("_", "-") if nearest else ""
            hint = f"did you mean --{flag}?" if nearest else f"see 'targcn models {model}'"
            raise InputError(f"--{written} is no option of {model}; {hint}")


def _describe(dataset: "Dataset") -> dict[str, Any]:
    import numpy as np

    train, test = dataset.train, dataset.test
    seen = np.zeros(len(dataset.entities), dtype=bool)
    seen[train.subjects] = seen[train.objects] = True
    counts = np.bincount(train.relations, minlength=len(dataset.relations))
    first_fact = dict(zip(train.relations[::-1].tolist(), range(len(train))[::-1], strict=True))
    timeline = dataset.timeline
    return {
        "name": dataset.name,
        "num_facts": {split: len(facts) for split, facts in dataset.splits.items()},
        "num_entities": len(dataset.entities),
        "num_relations": len(dataset.relations),
        "time": {
            "unit": timeline.unit,
            "first": timeline.first,
            "last": timeline.last,
            "num_times": len(timeline.ticks),
        },
        "num_unseen": int((~seen[test.subjects] | ~seen[test.objects]).sum()),
        "notes": list(dataset.notes),
        "relations": [
            {
                "name": dataset.relations.names[relation],
                "num_facts": int(counts[relation]),
                "example": dataset.named("train", first_fact[relation]),
            }
            for relation in np.argsort(-counts, kind="stable").tolist()
            if counts[relation]
        ],
    }


def _free_folder(parent: Path, name: str) -> Path:
    numbered = (
        parent / (name if number == 1 else f"{name}-{number}") for number in range(1, 10**6)
    )
    return next(folder for folder in numbered if not folder.exists())
