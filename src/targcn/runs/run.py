"""A run: a model, the recipe and the seed it was made with, and the data it belongs to."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from targcn.errors import InputError
from targcn.evaluation.report import Report
from targcn.facts.dataset import Context, Dataset, Split
from targcn.models.base import Model
from targcn.recipes.recipe import Recipe


@dataclass(frozen=True)
class TrainingRecord:
    """How far, how long and on what a model was trained."""

    epochs: int
    best_epoch: int
    seconds: float
    device: str
    finished: bool


@dataclass(frozen=True, eq=False)
class Run:
    """What `fit` gives and what a run folder holds."""

    recipe: Recipe
    seed: int
    dataset: Dataset
    model: Model
    # None where nothing is trained.
    trained: TrainingRecord | None = None
    # The valid split in its default context, with the weights that were kept.
    validation: Report | None = None

    def default_context(self, split: Split) -> Context:
        """The context to ask about a split in: the splits before it or, if so trained, the past."""
        if self.recipe.training.past_only:
            return "past"
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
