"""Inception v3 with random weights whose features differ from image to image, and images of all kinds to encode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from mauve_core.encoders.catalogue import INCEPTION_FILE
from mauve_core.encoders.vision_networks import InceptionV3


def write_weights(home: Path) -> Path:
    """Write a file like that of the trained weights where torch looks for it if ``home`` is TORCH_HOME.

    Each layer is normalized over images like those of :func:`draw_mixed`, so that features are of the size of trained
    ones and differ.
    """
    torch.manual_seed(0)
    network = InceptionV3()
    norms = [module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # the plain mean over what it sees
    with torch.no_grad():
        blocks = [torch.rand(1, 3, side, 12) for side in (3, 8, 20, 39)]
        images = torch.cat([torch.nn.functional.interpolate(each, (299, 299)) for each in blocks])
        network.train()(2 * images - 1)
    classifier = {"fc.weight": torch.randn(1008, 2048), "fc.bias": torch.randn(1008)}
    path = home / "hub" / "checkpoints" / INCEPTION_FILE
    path.parent.mkdir(parents=True)
    torch.save({**network.state_dict(), **classifier}, path)
    return path


def draw_mixed(folder: Path, n: int, *, seed: int, suffix: str | None = None) -> Path:
    """Write n images of different sizes, every third one gray, as JPEG and PNG in turn or all with one suffix."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        size = tuple(int(side) for side in rng.integers(20, 420, size=2))
        noise = rng.integers(256, size=(int(rng.integers(2, 40)), 12, 3), dtype=np.uint8)
        image = Image.fromarray(noise).resize(size, Image.Resampling.NEAREST)
        if number % 3 == 0:
            image = image.convert("L")
        image.save(folder / f"{number:03}{suffix or ('.jpg', '.png')[number % 2]}")
    return folder
