"""The loss of models that score every entity."""

import torch
from torch import Tensor
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
    if others is not None:
        own = scores.gather(1, answers[:, None])
        scores = scores.scatter(1, others, -torch.inf).scatter(1, answers[:, None], own)
    return functional.cross_entropy(scores, answers)


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
