"""Folders of small images made up in tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def draw_images(folder: Path, n: int, *, seed: int = 0, light: float = 0.5) -> Path:
    """Write n PNG files of blurred noise around one brightness, half of them in each of two folders."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        pixels = np.clip(rng.normal(light, 0.2, size=(6, 8, 3)), 0, 1)
        path = folder / ("even" if number % 2 == 0 else "odd") / f"{number:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 255).astype(np.uint8)).resize((40, 30), Image.Resampling.BICUBIC).save(path)
    return folder


def draw_stripes(folder: Path, n: int, *, seed: int = 0) -> Path:
    """Write n PNG files of upright stripes, alike but for where they begin, how bright they are, and a little noise."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for number in range(n):
        waves = np.sin(2 * np.pi * (np.arange(64) / 8 + rng.random()))
        pixels = rng.normal(130, 5) + 60 * np.broadcast_to(waves[None, :, None], (48, 64, 3))
        noisy = np.clip(pixels + rng.normal(0, 3, size=pixels.shape), 0, 255)
        Image.fromarray(noisy.astype(np.uint8)).save(folder / f"{number:04}.png")
    return folder
