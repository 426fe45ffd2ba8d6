"""A run: a model, the recipe and the seed it was made with, and the data it belongs to."""

from dataclasses import dataclass

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

    def model_to_evaluate(self) -> Model:
        """The model, with compiled scores if the recipe says so; for a whole split that pays."""
        if self.recipe.training.compile:
            self.model.compile_scores()
        return self.model

    @property
    def num_parameters(self) -> int:
        return self.model.num_parameters
