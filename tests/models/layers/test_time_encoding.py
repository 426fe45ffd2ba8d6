"""Φ against its formula, and its table against codes computed one by one."""

import math

import pytest
import torch

from targcn.models.layers import time_encoding
from targcn.models.layers.time_encoding import TimeEncoding


def build(span: int, **options: float) -> TimeEncoding:
    encoding = TimeEncoding(6, span, **options).double().requires_grad_(False)
    torch.nn.init.normal_(encoding.phases, generator=torch.Generator().manual_seed(0))
    return encoding


@pytest.mark.parametrize("factor", [1.0, 24.0])
@pytest.mark.parametrize("scaled", [False, True])
def test_codes_follow_the_formula(factor: float, scaled: bool) -> None:
    encoding = build(10, factor=factor, scaled=scaled)
    deltas = [-400, -1, 0, 1, 7]
    expected = [
        [
            math.cos(frequency * factor * delta + phase) / (math.sqrt(6) if scaled else 1)
            for frequency, phase in zip(
                encoding.frequencies.tolist(), encoding.phases.tolist(), strict=True
            )
        ]
        for delta in deltas
    ]
    found = encoding(torch.tensor(deltas))
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("most", [0, 65_536])
@pytest.mark.parametrize(
    ("span", "deltas"),
    [
        (4, [[0, 3, -3, 1], [1, 1, 0, -2]]),  # every difference of the timeline in one table
        (9, [[0, 8, -8], [1, 1, 0]]),  # fewer numbers than differences
        (1, [[0], [0]]),
    ],
)
def test_looking_codes_up_is_computing_them(
    span: int, deltas: list[list[int]], most: int, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_encoding, "MOST_CODES", most)
    encoding = build(span).train(training)
    table, rows = encoding.look_up(torch.tensor(deltas))
    torch.testing.assert_close(table[rows], encoding(torch.tensor(deltas)))


def test_differences_outside_the_timeline_have_codes_too() -> None:
    encoding = build(2).eval()
    deltas = torch.tensor([[0, 1, -1], [500, -500, 2]])
    table, rows = encoding.look_up(deltas)
    torch.testing.assert_close(table[rows], encoding(deltas))
