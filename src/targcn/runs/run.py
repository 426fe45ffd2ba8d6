"""A run: a model, the recipe and the seed it was made with, and the data it belongs to."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from targcn.errors import InputError
from targcn.evaluation.report import Report
from targcn.facts.dataset import Context, Dataset, Split
from targcn.models.base import Model
from targcn.models.fused import FUSED, Fused, FusedSettings
from targcn.output.tables import Shown, Table
from targcn.recipes.recipe import Recipe
from targcn.recipes.training_settings import TrainingSettings
from targcn.truth.judge import Judge


@dataclass(frozen=True)
class TrainingRecord:
    """How far, how long and on what a model was trained."""

    epochs: int
    best_epoch: int
    seconds: float
    device: str
    finished: bool


@dataclass(frozen=True, eq=False, repr=False)
class Run(Shown):
    """What `fit` gives and what a run folder holds."""

    recipe: Recipe
    seed: int
    dataset: Dataset
    model: Model
    # None where nothing is trained.
    trained: TrainingRecord | None = None
    # The valid split in its default context, with the weights that were kept.
    validation: Report | None = None
    # What says which facts are true (runs/judge.py).
    judge: Judge | None = None
    # Of a fused run: the runs that it is made of, by name.
    members: Mapping[str, "Run"] = field(default_factory=dict)

    def as_table(self) -> Table:
        """What it is, how it was trained, and its figures on the valid split if they are here."""
        recipe, trained = self.recipe, self.trained
        title = (
            f"{recipe.model} on {self.dataset.name}: recipe {recipe.name}, seed {self.seed}, "
            f"{self.num_parameters:,} parameters"
        )
        if trained is not None:
            title += f", trained {trained.epochs} epochs in {trained.seconds:,.0f} s"
            title += f" on {trained.device}" if trained.finished else ", then stopped"
        notes = [f"data: {self.dataset.summary}"]
        if isinstance(recipe.settings, FusedSettings):
            weights = recipe.settings.weights.items()
            members = ", ".join(f"{name} × {weight:.3g}" for name, weight in weights)
            notes.insert(0, f"members, by their weights: {members}")
        if self.validation is None:
            return Table((), (), title, (*notes, "targcn.evaluate(run) gives its figures"))
        figures = self.validation.as_table()
        return replace(figures, title=title, notes=(*notes, f"figures: {self.validation.setting}"))

    def default_context(self, split: Split | None) -> Context:
        """The context to ask about a split in: the splits before it or, if so trained, the past.

        What is in no split is asked about with all facts.
        """
        if self.recipe.training.past_only:
            return "past"
        if split is None:
            return "all"
        return "train+valid" if split == "test" else "train"

    def with_facts(self, source: object, context: Context, asked: Split | None = None) -> "Run":
        """This run with newer facts, of a file or frame, in its context; itself it stays as it is.

        A split that is asked about is not given away: its facts are left out.
        """
        from targcn.facts.additions import add_facts

        require_reader(self.model, self.recipe.model, "added facts")
        dataset, model = add_facts(self.dataset, source, context, asked), deepcopy(self.model)
        names = dataset.entities.names[len(self.dataset.entities) :]
        if names:
            model.add_entities(len(names))
            sentences = (*dataset.additions, describe_new(names, model))
            dataset = replace(dataset, additions=sentences)
        return replace(self, dataset=dataset, model=model)

    def model_to_evaluate(self) -> Model:
        """The model, with compiled scores if the recipe says so; for a whole split that pays."""
        if self.recipe.training.compile:
            self.model.compile_scores()
        return self.model

    @property
    def num_parameters(self) -> int:
        return self.model.num_parameters


def require_reader(model: Model, name: str, what: str) -> None:
    """Refuse to change the context of a model that never looks at it."""
    if not model.reads_context:
        raise InputError(
            f"{name} ignores its context and answers from what it learned alone: {what} would "
            "change none of its answers"
        )


def describe_new(names: Sequence[str], model: Model) -> str:
    """Say which entities are new to a model, and what that means for it."""
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    return f"entities new to the model {model.about_new_entities}: {listed}"


def fused_run(
    dataset: Dataset, members: Mapping[str, Run], settings: FusedSettings, seed: int
) -> Run:
    """A run of the members' models, weighted."""
    if list(settings.weights) != list(members):
        raise InputError("a fused run must have one weight for each of its members; fuse again")
    model = Fused(settings, dataset, {name: run.model for name, run in members.items()})
    compile = any(run.recipe.training.compile for run in members.values())
    past_only = all(run.recipe.training.past_only for run in members.values())
    training = TrainingSettings(compile=compile, past_only=past_only)
    recipe = Recipe(FUSED, "default", settings, training)
    return Run(recipe, seed, dataset, model, members=members)
