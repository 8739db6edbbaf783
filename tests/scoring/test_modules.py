"""Plain modules of PyTorch are scored on images of their layout, range, dtype and device, and left as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import hackle
from hackle.core.errors import HackleError
from hackle.scoring.encode import EncodingError, ModuleEncoder, encode_images

IMAGES = np.random.default_rng(0).integers(0, 256, (40, 6, 8, 3), dtype=np.uint8)
DATA = hackle.from_arrays(IMAGES, {"a": np.arange(40) % 4, "b": np.arange(40) // 4})
INDEX = np.arange(40)


class Net(nn.Module):
    """A weight that means nothing but has a dtype, dropout and normalisation that training mode would feel, and a record."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.first = nn.Linear(1, 1)
        self.dropout = nn.Dropout(0.5)
        self.norm = nn.BatchNorm2d(3)
        self.answer, self.seen = answer, []

    def forward(self, images: Tensor) -> Any:
        self.seen.append((images, self.training, self.dropout.training, torch.is_grad_enabled()))
        return self.answer(self.dropout(images))


def pixels(images: Tensor) -> Tensor:
    return images.flatten(1)[:, :5]


def test_a_module_sees_channels_first_in_0_to_1_and_is_left_as_it_was() -> None:
    net = Net(pixels)
    net.norm.eval()
    before = [part.training for part in net.modules()]
    codes = encode_images(ModuleEncoder(net), DATA, INDEX, chunk=16)
    assert [part.training for part in net.modules()] == before == [True, True, True, False]
    assert len(net.seen) == 3
    assert all(modes == (False, False, False) for _, *modes in net.seen for modes in [tuple(modes)])
    images = torch.cat([images for images, *_ in net.seen])
    assert images.dtype == torch.float32
    np.testing.assert_allclose(images.numpy(), IMAGES.transpose(0, 3, 1, 2) / 255, rtol=1e-6)
    np.testing.assert_allclose(codes.means(INDEX), IMAGES.transpose(0, 3, 1, 2).reshape(40, -1)[:, :5] / 255, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_layout_range_and_dtype_follow_the_module(dtype: torch.dtype) -> None:
    net = Net(lambda images: (pixels(images).requires_grad_(), pixels(images).double())).to(dtype)
    encoder = ModuleEncoder(net, "last", (-1.0, 1.0))
    codes = encode_images(encoder, DATA, INDEX)
    assert net.seen[0][0].dtype == dtype
    assert net.seen[0][0].shape == (40, 6, 8, 3)
    wanted = IMAGES.reshape(40, -1)[:, :5] / 127.5 - 1
    np.testing.assert_allclose(codes.means(INDEX), wanted, atol=float(torch.finfo(dtype).eps) * 2 + 1e-6)
    assert codes.has_posterior
    name = str(dtype).removeprefix("torch.")
    assert encoder.images(DATA.shape) == f"{name} images (n, 6, 8, 3), channels last, in [-1, 1]"


def test_a_module_scores_as_the_function_that_does_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(144, 4))
    assert net[1].weight.requires_grad
    table = hackle.score(net, DATA, "mig,gaussian_tc", references=False)
    assert "Sequential: scored on float32 images (n, 3, 6, 8), channels first, in [0, 1]" in capsys.readouterr().err

    def function(images: np.ndarray) -> Tensor:
        return net(torch.tensor(images.transpose(0, 3, 1, 2) / 255, dtype=torch.float32))

    alone = hackle.score(function, DATA, "mig,gaussian_tc", references=False)
    assert table["score"].tolist() == alone["score"].tolist()
    last = hackle.score(net, DATA, "mig", references=False, channels="last", value_range=(0.0, 255.0))
    assert np.isfinite(last["score"]).all()


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(
        EncodingError, match=r"Conv2d failed on float32 images \(n, 3, 6, 8\), channels first.*channels=\"last\""
    ):
        hackle.score(nn.Conv2d(8, 1, 1), DATA, "mig")
    with pytest.raises(EncodingError, match="channels is 'middle'"):
        hackle.score(nn.Flatten(), DATA, "mig", channels="middle")  # type: ignore[arg-type]
    with pytest.raises(HackleError, match="say what a plain module takes"):
        hackle.score(lambda images: images.reshape(len(images), -1), DATA, "mig", channels="last")
