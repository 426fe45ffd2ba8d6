"""How a model is trained: all settings of the training loop."""

from dataclasses import dataclass
from typing import Literal

from targcn.config import require_least, require_positive
from targcn.evaluation.filters import Filter


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained; how it is built is in its own settings."""

    epochs: int = 100
    """Passes over the training queries, at most."""

    batch_size: int = 1024
    """Queries per step, at most."""

    learning_rate: float = 1e-3
    """Learning rate of the first step."""

    schedule: Literal["constant", "cosine"] = "cosine"
    """How the learning rate changes: constant, or falling to 0 along half a cosine."""

    optimizer: Literal["adam", "adagrad"] = "adam"
    """The update rule."""

    clip: float | None = None
    """Gradients of a larger norm, over all weights, are scaled down to this one; none: never."""

    weight_decay: float = 0.0
    """This share of every weight is added to its gradient, which was clipped before."""

    filtered_loss: bool = False
    """Leave other answers of train at the query's time out of the softmax."""

    past_only: bool = False
    """Let a query see only facts before its time, in training and by default afterwards."""

    matmul_precision: Literal["highest", "high"] = "high"
    """Precision of matrix products on a GPU; high is TF32, several times as fast."""

    compile: bool = False
    """Compile training and evaluation with torch.compile; needs a C compiler."""

    validate_every: int = 5
    """Epochs from one validation to the next."""

    patience: int = 0
    """Validations without improvement before training stops; 0: never stop early."""

    select_by: Filter = "time-aware"
    """The weights kept are those with the best valid MRR under this filter."""

    def __post_init__(self) -> None:
        require_least(self, epochs=1, batch_size=1, validate_every=1, weight_decay=0)
        require_positive(self, "learning_rate")
        if self.clip is not None:
            require_positive(self, "clip")
