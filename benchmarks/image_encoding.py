"""Ten thousand images: read, encoded and scored, beside a plain loop over the same network; and an encoding killed.

    python benchmarks/image_encoding.py [--images 10000] [--out benchmarks/results/image_encoding.md]

The images are made up: JPEG files of 256 x 192 pixels of smooth noise. They lie in folders of a thousand; after each, a
plain loop encodes every fifth image of it (Pillow opens and prepares it as the encoder does, torch runs the network in
batches of the same size), so that both meet the same machine. What is killed is a process that encodes two folders, by
SIGKILL in the middle; another one goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scale_point import status

from mauve_core import compare, read_corpus
from mauve_core.base.config import EncoderConfig
from mauve_core.base.files import HOME_VARIABLE, write_atomically
from mauve_core.encoders.catalogue import EFFICIENTNET, identify
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.vision import open_vision_model
from mauve_core.images.kind import BATCH_NUMBERS
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of

# Images of a folder, and the plain loop takes one in so many.
FOLDER, EACH = 1_000, 5

CONFIG = EncoderConfig(model=EFFICIENTNET)


def draw(folder: Path, n: int, seed: int) -> Path:
    """Write n JPEG files."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for number in range(n):
        noise = rng.integers(0, 256, size=(12, 16, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((256, 192), Image.Resampling.BICUBIC).save(folder / f"{number:05}.jpg")
    return folder


@dataclass(frozen=True)
class Pace:
    """Seconds of one folder: of reading, of encoding, and of the plain loop per image."""

    reading: float
    encoding: float
    plain: float

    @property
    def ratio(self) -> float:
        """Images a second of the encoder, beside those of the plain loop."""
        return self.plain * FOLDER / self.encoding


def plain_loop(paths: list[Path]) -> NDArray[np.float32]:
    """Features by the network alone, in batches of the encoder's size."""
    model = open_vision_model(CONFIG, identify(EFFICIENTNET), "cpu")
    size = BATCH_NUMBERS["cpu"] // model.image_numbers
    found = []
    for start in range(0, len(paths), size):
        images = []
        for path in paths[start : start + size]:
            with Image.open(path) as image:
                images.append(model.prepare(image.convert("RGB")))
        found.append(model.run(np.stack(images)))
    return np.concatenate(found)


def encoded(corpus: Corpus) -> NDArray[np.float32]:
    """Features of a corpus by way of the store."""
    return kind_of("image").encoder(CONFIG, "cpu").encode(corpus, store=FeatureStore()).array


def measure(folders: list[Path]) -> tuple[list[Pace], list[NDArray[np.float32]], float]:
    """Pace and features of every folder, and the largest difference from the plain loop."""
    paces, features, apart = [], [], 0.0
    for folder in folders:
        start = time.perf_counter()
        corpus = read_corpus(folder)
        read = time.perf_counter()
        found = encoded(corpus)
        done = time.perf_counter()
        rows = range(0, len(corpus), EACH)
        plain = plain_loop([folder / corpus.ids[row] for row in rows])
        after = time.perf_counter()
        apart = max(apart, float(np.abs(found[rows] - plain).max()))
        paces.append(Pace(read - start, done - read, (after - done) / len(rows)))
        features.append(found)
        print(f"{FOLDER / paces[-1].encoding:.1f} images/s, {paces[-1].ratio:.2f} of the plain loop", flush=True)
    return paces, features, apart


def killed_and_resumed(folder: Path, home: Path) -> tuple[int, int, bool]:
    """Images done when the process was killed, images that the next one found done, and whether the bits are equal."""
    environment = {**os.environ, HOME_VARIABLE: str(home)}
    command = [sys.executable, __file__, "--worker", str(folder)]
    counts = []
    for kill in (True, False):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as worker:
            lines = []
            for line in worker.stdout or ():
                lines.append(line.split())
                if kill and int(lines[-1][0]) >= FOLDER // 2:
                    worker.send_signal(signal.SIGKILL)
                    break
        counts.append(int(lines[-1 if kill else 0][0]))
    return counts[0], counts[1], lines[-1][1] == digest_of(encoded(read_corpus(folder)))


def digest_of(array: NDArray[np.float32]) -> str:
    """SHA-256 of the bytes of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def work(folder: Path) -> None:
    """Encode a folder, print how many images are done, and at the end the digest of the features."""
    encoder = kind_of("image").encoder(CONFIG, "cpu")

    def tell(_stage: str, done: int, _total: int) -> None:
        print(done, "-", flush=True)

    found = encoder.encode(read_corpus(folder), store=FeatureStore(), progress=tell).array
    print(len(found), digest_of(found), flush=True)


def page(paces: list[Pace], apart: float, scoring: float, killed: tuple[int, int, bool]) -> str:
    """The page."""
    n = len(paces) * FOLDER
    ratios = [pace.ratio for pace in paces]
    peak = status("VmHWM") / 1024**3
    done, found, equal = killed
    rows = [
        ("Reading, with properties and thumbnails", f"{n / sum(pace.reading for pace in paces):.0f} images/s"),
        ("Encoding", f"{n / sum(pace.encoding for pace in paces):.1f} images/s"),
        ("Plain loop", f"{1 / np.mean([pace.plain for pace in paces]):.1f} images/s"),
        ("Encoding beside the plain loop", f"{np.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"),
        ("Largest difference of a feature from the plain loop", f"{apart:.1g}"),
        (f"Scores of {n // 2:,} against {n // 2:,} from features, without a map", f"{scoring:.0f} s"),
        ("Peak memory of the process", f"{peak:.1f} GiB"),
        ("Killed at, of 1,000 images", f"{done:,}"),
        ("Found done by the next process", f"{found:,}"),
        ("Features beside those of an encoding that was not killed", "equal bits" if equal else "OTHER BITS"),
    ]
    return "\n".join(
        [
            "# Encoding images",
            "",
            f"{n:,} JPEG files of 256 x 192 pixels by {EFFICIENTNET} on {torch.get_num_threads()} threads; the plain "
            "loop takes turns with the encoder, a folder of 1,000 at a time; mean and range of its ratios.",
            "",
            "| What | Measured |",
            "| --- | ---: |",
            *(f"| {what} | {value} |" for what, value in rows),
            "",
            f"Python {platform.python_version()}, torch {torch.__version__}, Pillow {Image.__version__}.",
            "",
        ]
    )


def main() -> None:
    """Measure and print the page, and write it if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        work(args.worker)
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        os.environ[HOME_VARIABLE] = str(root / "home")
        count = max(2, args.images // FOLDER)
        folders = [draw(root / f"{number:03}", FOLDER, number) for number in range(count)]
        paces, features, apart = measure(folders)
        half = len(features) // 2
        start = time.perf_counter()
        human, other = (np.concatenate(part) for part in (features[:half], features[half:]))
        names = [[f"{side}{row}" for row in range(len(part))] for side, part in (("p", human), ("q", other))]
        compare(names[0], {"other": names[1]}, features={"human": human, "other": other}, draw_map=False)
        scoring = time.perf_counter() - start
        text = page(paces, apart, scoring, killed_and_resumed(folders[0], root / "other-home"))
    if args.out is not None:
        write_atomically(args.out, lambda stream: stream.write(text.encode()))
    print(text)


if __name__ == "__main__":
    main()
