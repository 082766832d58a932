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
