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
        scores = scores.scatter(1, others, -torch.inf).scatter_(1, answers[:, None], own)
    return functional.cross_entropy(scores, answers)
