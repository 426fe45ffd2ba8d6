"""TeMP-SA: the snapshots of a window, joined by attention (temp.py has the rest)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from targcn.config import require_least
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.snapshots import NONE, Windows
from targcn.models.layers.sums import segment_softmax
from targcn.models.temp import Decay, Described, Encoded, TeMP, TeMPSettings, xavier


@dataclass(frozen=True)
class TeMPSASettings(TeMPSettings):
    heads: int = 8
    """Heads of the attention, which share the numbers of a vector equally."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_least(self, heads=1)
        if self.dim % self.heads:
            raise InputError(f"dim is {self.dim}, which {self.heads} heads cannot share equally")


class TeMPSA(TeMP):
    """Attention from the moment's vector to those of the snapshots where the entity is active."""

    Settings = TeMPSASettings
    settings: TeMPSASettings

    def __init__(self, settings: TeMPSASettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        dim = settings.dim
        self.query_weight, self.key_weight, self.value_weight = (xavier(dim, dim) for _ in "qkv")
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(dim)) for _ in range(2))
        self.fading = Decay(learned=True) if settings.learned_decay else None

    def bias(self, layer: int) -> Tensor:
        bias: Tensor = self.biases[layer]
        return bias

    def join(self, encoded: Encoded, windows: Windows) -> Described:
        num_nodes, num_pairs = len(encoded.nodes), len(encoded.now)
        middle = windows.pair_nodes.shape[1] // 2
        now = encoded.now + encoded.times.index_select(0, windows.pair_moments)
        seen = torch.cat([encoded.nodes + self.times(windows.times), now])
        # At its moment every entity has a vector, be it active or not.
        places = windows.pair_nodes.clone()
        places[:, middle] = torch.arange(num_pairs, device=places.device) + num_nodes
        pairs, columns = (places != NONE).nonzero(as_tuple=True)
        places = places[pairs, columns]
        heads = (self.settings.heads, self.settings.dim // self.settings.heads)
        keys = (seen @ self.key_weight.T).index_select(0, places)
        values = (seen @ self.value_weight.T).index_select(0, places)
        asked = (now @ self.query_weight.T).index_select(0, pairs)
        logits = (asked * keys).view(-1, *heads).sum(2) / heads[1] ** 0.5
        if self.fading is not None:
            logits = logits - self.fading.rate((columns - middle).abs())[:, None]
        weights = segment_softmax(logits, pairs, num_pairs)
        weighted = (weights[..., None] * values.view(-1, *heads)).flatten(1)
        joined = torch.zeros_like(now).index_add(0, pairs, weighted)
        others, moments = (
            vectors @ self.value_weight.T for vectors in (encoded.inactive, encoded.times)
        )
        return Described(joined, others, moments)
