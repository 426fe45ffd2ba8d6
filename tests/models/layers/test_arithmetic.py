import pytest
import torch

from targcn.models.layers.arithmetic import complex_product, in_parts, sum_of_powers


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("power", [2, 3, 4])
def test_what_is_one_node_has_the_gradients_of_what_it_is(power: int, parts: int) -> None:
    numbers = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: sum_of_powers(in_parts(x, parts), power), numbers)
    others = numbers.detach().roll(1, 0).requires_grad_()
    assert torch.autograd.gradcheck(complex_product, (numbers, others))
