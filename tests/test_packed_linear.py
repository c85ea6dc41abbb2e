import pytest
import torch
from torch import nn

from captionlab import packed_linear
from captionlab.packed_linear import packed_linears


class Odd(nn.Linear):
    """A subclass may do more than multiply."""


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """A processor whose training packs, whatever runs the tests."""
    monkeypatch.setattr(packed_linear, "vendor", lambda: "AuthenticAMD")


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(packed_linear, "LEAST_TRAINED", 1)
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


@pytest.mark.parametrize("gradients", [False, True])
def test_under_autocast_products_are_torchs_own(model, gradients):
    x = torch.randn(3, 24)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        expected = model(x)
    with (
        packed_linears(model, gradients=gradients),
        torch.no_grad(),
        torch.autocast("cpu", dtype=torch.bfloat16),
    ):
        assert torch.equal(model(x), expected) and expected.dtype == torch.bfloat16


def slopes(model, x, weight):
    """The output and the gradients of its sum weighted by `weight`, of x and of every parameter by name."""
    x = x.detach().requires_grad_()
    output = model(x)
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad((output * weight).sum(), [x, *parameters])
    return dict(zip(("output", "x", *names), (output.detach(), *found), strict=True))


@pytest.mark.parametrize("shape", [(3, 24), (2, 5, 24), (1, 1, 24), (300, 24)])
def test_gradients_are_the_same_but_for_rounding(model, shape):
    """Against autograd's own in FP64."""
    x, weight = torch.randn(shape), torch.randn(*shape[:-1], 8)
    exact = slopes(model.double(), x.double(), weight.double())
    model.float()
    with packed_linears(model, gradients=True):
        assert replaced(model) == ["0", "3"]
        packed = slopes(model, x, weight)
    assert list(packed) == ["output", "x", "0.weight", "0.bias", "2.weight", "2.bias", "3.weight"]
    for name, tensor in packed.items():
        torch.testing.assert_close(tensor, exact[name].float(), rtol=1e-4, atol=1e-5, msg=name)


def test_gradients_come_back_through_rows_that_do_not_lie_together(model):
    x, weight = torch.randn(24, 7).T, torch.randn(8, 7).T
    with packed_linears(model, gradients=True):
        apart, together = slopes(model, x, weight), slopes(model, x.contiguous(), weight.contiguous())
        (model(x).transpose(0, 1) * weight.T.contiguous()).sum().backward()
    for name, tensor in apart.items():
        torch.testing.assert_close(tensor, together[name], rtol=1e-5, atol=1e-6, msg=name)
    torch.testing.assert_close(model[0].weight.grad, together["0.weight"], rtol=1e-5, atol=1e-6)


def test_sub_batches_add_up_their_gradients_and_repeat_their_bits(model):
    x = torch.randn(2, 9, 24)
    found = []
    for _ in range(2):
        model.zero_grad()
        with packed_linears(model, gradients=True):
            for part in x:
                model(part).square().sum().backward()
        found.append(model[3].weight.grad.clone())
    assert torch.equal(*found)
    model.zero_grad()
    model(x).square().sum().backward()
    torch.testing.assert_close(found[0], model[3].weight.grad, rtol=1e-5, atol=1e-5)


def test_what_wants_no_gradient_gets_none(model):
    model[0].requires_grad_(False)
    with packed_linears(model, gradients=True):
        model(torch.randn(3, 24)).sum().backward()
    assert model[0].weight.grad is None and model[0].bias.grad is None
    assert model[3].weight.grad is not None


def test_a_second_derivative_is_refused(model):
    x = torch.randn(3, 24, requires_grad=True)
    with packed_linears(model, gradients=True):
        (slope,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            slope.sum().backward()


def test_training_leaves_narrow_weights_as_they_are():
    model = nn.Sequential(nn.Linear(511, 512), nn.Linear(512, 512), nn.Linear(512, 511), nn.Linear(512, 2048))
    with packed_linears(model, gradients=True):
        assert replaced(model) == ["1", "3"]
    with packed_linears(model):
        assert replaced(model) == ["0", "1", "2", "3"]


def test_training_on_an_intel_processor_leaves_weights_as_they_are(model, monkeypatch):
    monkeypatch.setattr(packed_linear, "vendor", lambda: "GenuineIntel")
    with packed_linears(model, gradients=True):
        assert replaced(model) == []
    with packed_linears(model):
        assert replaced(model) == ["0", "3"]
