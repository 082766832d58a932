"""Folders of small images made up in tests, and a run of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from mauve_core import compare, read_corpus
from mauve_core.base.config import HUMAN
from mauve_core.images.decoding import Picture, decoded
from mauve_core.runs import Run, RunStore


def decode(data: bytes, name: str) -> Picture:
    """The image, without room for it."""
    with decoded(data, name) as picture:
        return picture


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


def make_dark_run(folder: Path, n: int = 60, *, name: str = "images") -> Run:
    """Store a run of gray images: real ones, darker ones, and the same distribution once more.

    Noise in every color would be more saturated where it is darker.
    """
    sides = {HUMAN: (0, 0.5), "dark": (1, 0.35), "same": (2, 0.5)}
    corpora = {}
    for side, (seed, light) in sides.items():
        draw_images(folder / side, n, seed=seed, light=light)
        for path in (folder / side).rglob("*.png"):
            Image.open(path).convert("L").save(path)
        corpora[side] = read_corpus(folder / side, name=side)
    features = {side: np.random.default_rng(seed).normal(size=(n, 4)) for side, (seed, _) in sides.items()}
    models = {side: corpora[side] for side in ("dark", "same")}
    comparison = compare(corpora[HUMAN], models, features=features, k=3, seeds=2, draw_map=False)
    return RunStore().save(name, comparison, corpora, features)
