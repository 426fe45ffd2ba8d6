"""The loss of models that score every entity."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional


def cross_entropy(scores: Tensor, answers: Tensor, others: Tensor | None = None) -> Tensor:
    """Cross-entropy of the answers against all entities but the other true ones, on average.

    Each row of `others` may repeat entities, and hold the row's own answer, which always stays.

    >>> scores, answers = torch.zeros(1, 4), torch.tensor([2])
    >>> cross_entropy(scores, answers).exp().round().item()
    4.0
    >>> cross_entropy(scores, answers, torch.tensor([[0, 2, 0]])).exp().round().item()
    3.0
    """
    if others is None:
        return functional.cross_entropy(scores, answers)
    node: Any = _FilteredCrossEntropy
    loss: Tensor = node.apply(scores, answers[:, None], others)
    return loss


def cross_entropy_among(
    scores: Tensor, answers: Tensor, negatives: Tensor, others: Tensor | None
) -> Tensor:
    """Cross-entropy of the answers against some entities of each row, on average.

    Among these, true answers do not count; `others` are as for `cross_entropy`.
    """
    own = scores.gather(1, answers[:, None])
    if others is not None:
        scores = scores.scatter(1, others, -torch.inf)
    rivals = scores.gather(1, negatives).masked_fill(negatives == answers[:, None], -torch.inf)
    return functional.cross_entropy(torch.cat([own, rivals], dim=1), torch.zeros_like(answers))


class _FilteredCrossEntropy(Function):
    """One node of autograd: three would copy all scores three times more in the backward pass."""

    @staticmethod
    def forward(context: Any, scores: Tensor, answers: Tensor, others: Tensor) -> Tensor:
        own = scores.gather(1, answers)
        kept = scores.scatter(1, others, -torch.inf).scatter_(1, answers, own)
        logs = kept.log_softmax(dim=1)
        context.save_for_backward(logs, answers)
        return -logs.gather(1, answers).mean()

    @staticmethod
    @once_differentiable
    def backward(context: Any, of_loss: Tensor) -> tuple[Tensor, None, None]:
        logs, answers = context.saved_tensors
        of_row = of_loss / len(logs)
        of_scores = logs.exp() * of_row
        return of_scores.scatter_add_(1, answers, -of_row.expand_as(answers)), None, None
