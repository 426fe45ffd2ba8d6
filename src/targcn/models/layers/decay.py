"""How what was seen fades with its distance."""

import torch
from torch import Tensor, nn

# How fast a state, a key or an imputed vector fades per snapshot, before anything is learned.
FADING = 0.1


class Decay(nn.Module):
    """exp(−max(0, a Δ + b)) of a distance Δ; a and b are 0.1 and 0, and may be learned."""

    line: Tensor

    def __init__(self, learned: bool) -> None:
        super().__init__()
        line = torch.tensor([FADING, 0.0])
        if learned:
            self.line = nn.Parameter(line)
        else:
            self.register_buffer("line", line, persistent=False)

    def rate(self, distances: Tensor) -> Tensor:
        slope, start = self.line
        return torch.relu(slope * distances + start)

    def forward(self, distances: Tensor) -> Tensor:
        return torch.exp(-self.rate(distances))
