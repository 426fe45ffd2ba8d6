"""TeMP-GRU: the snapshots of a window, joined by recurrent networks (temp.py has the rest)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from targcn.facts.dataset import Dataset
from targcn.graph.snapshots import NONE, Windows
from targcn.models.temp import Decay, Described, Encoded, TeMP, TeMPSettings


@dataclass(frozen=True)
class TeMPGRUSettings(TeMPSettings):
    released_absence: bool = False
    """Lose an entity's state when it misses a snapshot, as the released code does."""


class TeMPGRU(TeMP):
    """Two recurrent networks, from either end of the window to the moment; states fade."""

    Settings = TeMPGRUSettings
    settings: TeMPGRUSettings

    def __init__(self, settings: TeMPGRUSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        dim, learned = settings.dim, settings.learned_decay
        # The networks that come from before, and from after.
        self.cells = nn.ModuleList(nn.GRUCell(dim, dim) for _ in range(2))
        self.fading = nn.ModuleList(Decay(learned) for _ in range(2))

    def join(self, encoded: Encoded, windows: Windows) -> Described:
        last = windows.pair_nodes.shape[1] - 1
        middle = last // 2
        columns = range(middle), range(last, middle, -1)
        pairs = encoded.times.index_select(0, windows.pair_moments)
        others = torch.zeros_like(encoded.inactive)
        for cell, fading, side in zip(self.cells, self.fading, columns, strict=True):
            state = torch.zeros_like(encoded.now)
            seen = torch.zeros_like(windows.pair_moments)
            for column in side:
                nodes = windows.pair_nodes[:, column]
                active = (nodes != NONE).nonzero().flatten()
                before = state.index_select(0, active)
                before = self._faded(fading, before, (column - seen[active]).abs())
                after = _step(cell, encoded.nodes.index_select(0, nodes[active]), before)
                state = state.index_copy(0, active, after)
                seen = seen.index_fill(0, active, column)
            before = self._faded(fading, state, (middle - seen).abs())
            pairs = pairs + _step(cell, encoded.now, before)
            others = others + cell(encoded.inactive)
        return Described(pairs, others, encoded.times)

    def _faded(self, fading: nn.Module, states: Tensor, distances: Tensor) -> Tensor:
        weights: Tensor = fading(distances[:, None])
        if self.settings.released_absence:
            weights = weights * (distances == 1)[:, None]
        return states * weights


def _step(cell: nn.Module, vectors: Tensor, states: Tensor) -> Tensor:
    """The next states, also of nobody, for whom a GPU has no kernel."""
    following: Tensor = cell(vectors, states) if len(vectors) else vectors + states
    return following
