"""Φ: a time difference as a vector of cosines, which equation 1 (aggregators.py) takes in."""

import torch
from torch import Tensor, nn

# The largest table of codes worth computing; for longer timelines each code is computed on its own.
MOST_CODES = 65_536


class TimeEncoding(nn.Module):
    """Φ(Δ) = (cos(ω_1 Δ + φ_1), …, cos(ω_d Δ + φ_d)), with learned frequencies ω and phases φ."""

    def __init__(self, dim: int, span: int, factor: float = 1.0, scaled: bool = False) -> None:
        """A timeline of `span` ticks that count `factor` each; if `scaled`, Φ is divided by √d."""
        super().__init__()
        self.span, self.factor = span, factor
        self.divisor = dim**0.5 if scaled else None
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, dim))
        self.phases = nn.Parameter(torch.zeros(dim))

    def forward(self, deltas: Tensor) -> Tensor:
        """Φ of each difference, in one dimension more."""
        codes = torch.cos(deltas[..., None] * (self.frequencies * self.factor) + self.phases)
        return codes if self.divisor is None else codes / self.divisor

    def look_up(self, deltas: Tensor) -> tuple[Tensor, Tensor]:
        """A table of codes, and the row of each difference in it: equal ones are computed once."""
        fits = 2 * self.span - 1 <= min(MOST_CODES, deltas.numel())
        if fits and (self.training or bool((deltas.abs() < self.span).all())):
            every = torch.arange(1 - self.span, self.span, device=deltas.device)
            return self(every), deltas + (self.span - 1)
        if deltas.is_cuda and self.training:
            # A recorded step cannot ask how many distinct differences there are.
            rows = torch.arange(deltas.numel(), device=deltas.device)
            return self(deltas.flatten()), rows.view_as(deltas)
        distinct, rows = torch.unique(deltas, return_inverse=True)
        return self(distinct), rows
