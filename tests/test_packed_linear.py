import pytest
import torch
from torch import nn

from captionlab.packed_linear import packed_linears


class Odd(nn.Linear):
    """A subclass may do more than multiply."""


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(24, 40), nn.GELU(), Odd(40, 40), nn.Linear(40, 8, bias=False)).eval()


def replaced(model):
    return [name for name, module in model.named_modules() if "forward" in vars(module)]


@pytest.mark.parametrize("shape", [(3, 24), (2, 5, 24), (1, 1, 24), (300, 24)])
def test_results_are_the_same_but_for_rounding(model, shape):
    """Against the same product in FP64."""
    x = torch.randn(shape)
    exact = model.double()(x.double()).float()
    model.float()
    with torch.inference_mode(), packed_linears(model):
        assert replaced(model) == ["0", "3"]
        packed = model(x)
    assert packed.shape == exact.shape
    torch.testing.assert_close(packed, exact, rtol=1e-5, atol=1e-6)


def test_rows_that_do_not_lie_together_are_taken(model):
    x = torch.randn(24, 7).T
    with torch.inference_mode(), packed_linears(model):
        torch.testing.assert_close(model(x), model(x.contiguous()), rtol=0, atol=0)


def test_the_model_is_left_as_it_was(model):
    before, x = dict(model.state_dict()), torch.randn(3, 24)
    expected = model(x)
    with pytest.raises(RuntimeError), packed_linears(model):
        assert list(model.state_dict()) == list(before)
        raise RuntimeError
    assert replaced(model) == []
    assert torch.equal(model(x), expected)


def test_new_weights_are_packed_anew(model):
    x = torch.randn(3, 24)
    with torch.inference_mode(), packed_linears(model):
        before = model(x)
    with torch.no_grad():
        model[0].weight.mul_(2.0)
    with torch.inference_mode(), packed_linears(model):
        after = model(x)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, model(x).detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("change", [nn.Module.half, lambda model: model.to("meta")])
def test_other_dtypes_and_devices_stay_as_they_are(model, change):
    model = change(model)
    with packed_linears(model):
        assert replaced(model) == []


def test_a_compiled_model_stays_as_it_is(model):
    model[0].compile()
    with packed_linears(model):
        assert replaced(model) == []


def test_under_autocast_a_model_stays_as_it_is(model):
    with torch.autocast("cpu", dtype=torch.bfloat16), packed_linears(model):
        assert replaced(model) == []
