"""Make the files of the demo of images: train the model of digits, sample it at each temperature, compare.

The model is a rectified flow with a U-Net, conditioned on the digit's class. It learns the velocity ``x1 - x0`` on
straight lines from noise ``x0`` to images ``x1`` (Liu, Gong and Liu, 2023, equation 1); sampling follows it from noise
in steps of Heun's method. The noise's standard deviation is the temperature: below 1 digits are cleaner and more alike,
above 1 more diverse and faulty, as truncation makes the samples of a generative adversarial network.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mauve_core.analyses.text_measures import MeasureTask
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.files import digest_of_file, write_atomically
from mauve_core.base.progress import Progress, silent
from mauve_core.demo.finished import FINISHED, pack
from mauve_core.demo.images import (
    DATA,
    DEMO_RUN,
    MANIFEST,
    NOTES,
    PACKAGE,
    SHA256,
    SIDE,
    SPLIT_SEED,
    SPLITS,
    Digits,
    image_corpora,
    real_digits,
    write_archive,
)
from mauve_core.encoders.features import FeatureStore
from mauve_core.findings.finding import run_findings
from mauve_core.findings.precomputed import derive
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Candidate
from mauve_core.texts.kinds import kind_of

CLASSES = 10
BATCH = 64
# Highest learning rate of Adam, reached after a tenth of the steps; it falls to 0 as a cosine.
RATE = 2e-3

# Weight of the past in the moving average of parameters, which is the model kept.
AVERAGED = 0.998

# Pixels by which training digits are moved at most, because they are few.
SHIFT = 2


class _Block(nn.Module):
    """Two convolutions around a shift and scale by time and class, beside an identity."""

    def __init__(self, inside: int, outside: int, embedded: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, inside), nn.SiLU(), nn.Conv2d(inside, outside, 3, padding=1))
        self.norm = nn.GroupNorm(8, outside, affine=False)
        self.condition = nn.Linear(embedded, 2 * outside)
        self.second = nn.Conv2d(outside, outside, 3, padding=1)
        self.beside = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()
        nn.init.zeros_(self.second.weight)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.condition(condition)[:, :, None, None].chunk(2, dim=1)
        inner = functional.silu(self.norm(self.first(x)) * (1 + scale) + shift)
        added: Tensor = self.beside(x) + self.second(inner)
        return added


class Velocity(nn.Module):
    """U-Net of three resolutions; (b, 1, 28, 28) images, (b,) times in [0, 1] and (b,) classes to velocities."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        embedded, wide = 4 * width, 2 * width
        self.frequencies = nn.Buffer(torch.exp(torch.linspace(0, math.log(1000), width)))
        self.time = nn.Sequential(nn.Linear(2 * width, embedded), nn.SiLU(), nn.Linear(embedded, embedded))
        self.label = nn.Embedding(CLASSES, embedded)
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.ModuleList(
            [_Block(width, width, embedded), _Block(width, wide, embedded), _Block(wide, wide, embedded)]
        )
        self.middle = _Block(wide, wide, embedded)
        self.up = nn.ModuleList(
            [_Block(2 * wide, wide, embedded), _Block(2 * wide, width, embedded), _Block(2 * width, width, embedded)]
        )
        self.leave = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x: Tensor, time: Tensor, label: Tensor) -> Tensor:
        angles = time[:, None] * self.frequencies
        condition = self.time(torch.cat([angles.sin(), angles.cos()], dim=1)) + self.label(label)
        x, kept = self.enter(x), []
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else functional.avg_pool2d(x, 2), condition)
            kept.append(x)
        x = self.middle(x, condition)
        for number, block in enumerate(self.up):
            x = block(torch.cat([x, kept.pop()], dim=1), condition)
            if number < len(self.up) - 1:
                x = functional.interpolate(x, scale_factor=2.0)
        velocity: Tensor = self.leave(x)
        return velocity


def train(digits: Digits, *, steps: int, seed: int, width: int = 32, progress: Progress = silent) -> Velocity:
    """Return a model trained on the digits; equal seeds give equal weights on one machine.

    Parameters
    ----------
    digits : Digits
    steps, seed : int
    width : int
        Channels at the highest resolution; a multiple of 8.
    progress : Progress
        Counts steps.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Velocity(width)
    averaged = copy.deepcopy(model)
    images, labels = _signed(digits.pixels), torch.from_numpy(digits.labels)
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    rates = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, total_steps=steps, pct_start=0.1)
    for step, chosen in zip(range(steps), _batches(len(digits), draw), strict=False):
        noise, x1 = torch.randn(len(chosen), 1, SIDE, SIDE, generator=draw), _moved(images[chosen], draw)
        time = torch.rand(len(chosen), generator=draw)
        between = noise + time[:, None, None, None] * (x1 - noise)
        with torch.autocast("cpu", torch.bfloat16):  # two to four times as fast where the processor has it
            velocity = model(between, time, labels[chosen])
        loss = functional.mse_loss(velocity.float(), x1 - noise)
        adam.zero_grad()
        torch.autograd.backward(loss)
        adam.step()
        rates.step()
        with torch.no_grad():
            for kept, new in zip(averaged.parameters(), model.parameters(), strict=True):
                kept.lerp_(new, 1 - min(AVERAGED, step / (step + 10)))
        progress("Training the model of digits", step + 1, steps)
    return averaged.eval()


def sample(model: Velocity, labels: NDArray[np.int64], *, temperature: float, steps: int, seed: int) -> Digits:
    """Return one digit for each label.

    Parameters
    ----------
    model : Velocity
    labels : (n,) int64
        0 to 9.
    temperature : float
        Standard deviation of the noise that sampling starts from, above 0; 1 as in training.
    steps : int
        Steps of Heun's method; the model is evaluated twice in each.
    seed : int
        Equal seeds start from equal noise but for its scale.
    """
    noise = torch.randn(len(labels), 1, SIDE, SIDE, generator=torch.Generator().manual_seed(seed))
    made = []
    for x, label in zip(_split(temperature * noise), _split(torch.from_numpy(labels)), strict=True):
        with torch.inference_mode():
            for step in range(steps):
                start, end = (torch.full((len(x),), at / steps) for at in (step, step + 1))
                before = model(x, start, label)
                after = model(x + before / steps, end, label)
                x = x + (before + after) / (2 * steps)
        made.append(((x[:, 0].clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8).numpy())
    return Digits(np.concatenate(made), labels)


def _signed(pixels: NDArray[np.uint8]) -> Tensor:
    """Return (n, 1, 28, 28) values between -1 and 1."""
    return torch.from_numpy(pixels.astype(np.float32))[:, None] / 127.5 - 1


def _batches(n: int, draw: torch.Generator) -> Iterator[Tensor]:
    """Yield positions of batches, each pass in an order of its own, without end."""
    size = min(BATCH, n)
    while True:
        order = torch.randperm(n, generator=draw)
        yield from (order[start : start + size] for start in range(0, n - size + 1, size))


def _split(values: Tensor) -> list[Tensor]:
    """Return the batches of images or labels."""
    return [values[start : start + BATCH] for start in range(0, len(values), BATCH)]


def _moved(images: Tensor, draw: torch.Generator) -> Tensor:
    """Return each image moved by a few whole pixels."""
    wider = functional.pad(images, [SHIFT] * 4, value=-1.0)
    y, x = torch.randint(0, 2 * SHIFT + 1, (2, len(images), 1, 1), generator=draw)
    rows, columns = y + torch.arange(SIDE)[:, None], x + torch.arange(SIDE)[None]
    return wider[torch.arange(len(images))[:, None, None], 0, rows, columns][:, None]


TEMPERATURES = (0.4, 0.6, 0.8, 1.0, 1.2)
STEPS = {"training": 3_000, "sampling": 12}
SEED = 0
MODEL = kind_of("image").model


def side_name(temperature: float) -> str:
    """Return a side's name, in which the sweep over decoders finds the temperature."""
    return f"temperature:t={temperature:g}"


def build_images(data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Train the model, write its digits under ``data``, and compare them, in half an hour on two cores.

    Returns the path of the finished run; errors as :func:`mauve_core.demo.images.real_digits`.
    """
    write_sides(train(real_digits("training"), steps=STEPS["training"], seed=SEED, progress=progress), data)
    return rebuild_run(data, progress=progress)


def rebuild_run(data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Compare the committed digits with real ones, in minutes, and write the finished run, whose path is returned.

    The run that is stored under the demo's name has its features; they are too large to be committed.
    """
    corpora = image_corpora(data, progress)
    candidates = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    config, features = CompareConfig(encoder=EncoderConfig(model=MODEL)), FeatureStore()
    found = compare(corpora[HUMAN], candidates, config, feature_store=features, progress=progress)
    found = dataclasses.replace(
        found,
        human=dataclasses.replace(found.human, origin=Path(found.human.origin).name),
        candidates=tuple(_of_file(each) for each in found.candidates),
        halves=None if found.halves is None else _of_file(found.halves),
    )
    entries = ((source.name, features.get(source.features_key)) for source in found.sources)
    arrays, runs = {name: entry.array for name, entry in entries if entry is not None}, RunStore()
    run = runs.save(DEMO_RUN, found, corpora, arrays, replace=True)
    runs.describe(run.id, notes=NOTES, tags=())
    derive(run, progress)
    for candidate in found.candidates:
        run_findings(run, candidate.name)
    MeasureTask(DEMO_RUN).compute(progress)
    pack(run, data / FINISHED)
    return data / FINISHED


def _of_file(candidate: Candidate) -> Candidate:
    """Return the candidate with the name of its file alone: its folder is one of this machine."""
    source = dataclasses.replace(candidate.source, origin=Path(candidate.source.origin).name)
    return dataclasses.replace(candidate, source=source)


def write_sides(model: Velocity, data: Path) -> Path:
    """Write an archive of PNG files for each temperature, and the manifest, whose path is returned.

    Each digit has the class and the name of a held-out real digit. All temperatures start from the same noise, but for
    its scale.
    """
    labels = real_digits("real").labels
    sides: dict[str, Any] = {}
    for temperature in TEMPERATURES:
        made = sample(model, labels, temperature=temperature, steps=STEPS["sampling"], seed=SEED)
        path = data / f"temperature-{temperature:g}.zip"
        write_archive(path, made)
        sides[side_name(temperature)] = {
            "file": path.name,
            "temperature": temperature,
            "images": len(made),
            "sha256": digest_of_file(path),
        }
    manifest = {
        "real": {"package": PACKAGE, "file_sha256": SHA256, "split_seed": SPLIT_SEED, "splits": SPLITS},
        "model": {
            "parameters": sum(weights.numel() for weights in model.parameters()),
            "steps": STEPS,
            "seed": SEED,
            "torch": torch.__version__,
            "machine": platform.machine(),
        },
        "sides": sides,
        "command": "mauve-lens demo images --rebuild",
    }
    text = json.dumps(manifest, indent=1) + "\n"
    write_atomically(data / MANIFEST, lambda stream: stream.write(text.encode()))
    return data / MANIFEST
