"""Cross-entropy with true answers left out, against a softmax over a shorter list."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import checked
from targcn.models.layers.losses import cross_entropy


def slow_cost(scores: list[float], answer: int, others: list[int]) -> float:
    left = [e for e in range(len(scores)) if e == answer or e not in others]
    return math.log(sum(math.exp(scores[e]) for e in left)) - scores[answer]


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[list[float]], list[int], list[list[int]]]:
    """Scores with ties; others that may be none, repeat each other or be the answer itself."""
    num_rows, num_entities = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    width, entities = draw(st.integers(0, 6)), st.integers(0, num_entities - 1)
    score = st.sampled_from([-30.0, -1.0, 0.0, 0.5, 40.0])
    rows = range(num_rows)
    return (
        [draw(st.lists(score, min_size=num_entities, max_size=num_entities)) for _ in rows],
        [draw(entities) for _ in rows],
        [draw(st.lists(entities, min_size=width, max_size=width)) for _ in rows],
    )


@checked
@given(batches())
def test_others_are_not_in_the_softmax(
    batch: tuple[list[list[float]], list[int], list[list[int]]],
) -> None:
    rows, answers, others = batch
    scores = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    before = scores.detach().clone()
    named = torch.tensor(others, dtype=torch.long).view(len(rows), -1)
    found = cross_entropy(scores, torch.tensor(answers), named)
    costs = [slow_cost(*row) for row in zip(rows, answers, others, strict=True)]
    torch.testing.assert_close(found.item(), sum(costs) / len(rows), rtol=1e-9, atol=1e-12)
    assert torch.equal(scores, before)
    [slopes] = torch.autograd.grad(found, scores)
    for row, answer in enumerate(answers):
        left = [e for e in range(len(rows[0])) if e == answer or e not in others[row]]
        shares = torch.tensor([rows[row][e] for e in left], dtype=torch.float64).softmax(0)
        expected = torch.zeros(len(rows[0]), dtype=torch.float64)
        expected[left] = shares
        expected[answer] -= 1
        torch.testing.assert_close(slopes[row], expected / len(rows))
