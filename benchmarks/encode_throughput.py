"""Texts a second of our encoder beside two plain transformers loops on the same texts, weights and machine.

    python benchmarks/encode_throughput.py --texts FILE [--model NAME] [--limit N] [--max-tokens N]

The loops are what one writes first: one text at a time, and rows of the file in their order, padded to the longest of
each batch. All three include tokenizing and none includes loading the model. They run in turn, in every order, and each
is reported by its median over the rounds; the ratios are what to compare between machines.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from mauve_core.config import EncoderConfig
from mauve_core.corpus import read_corpus
from mauve_core.encoders import Encoder
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.encoders.pooling import pool, resolve_pooling

Way = Callable[[Sequence[str]], NDArray[np.float32]]


def plain_loop(loaded: LoadedModel, config: EncoderConfig, rows: int) -> Way:
    """A loop over ``rows`` texts at a time, in the order of the file."""
    pooling = resolve_pooling(config.pooling, loaded.default_pooling)
    limit = min(config.max_tokens, loaded.max_positions)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        found = []
        for start in range(0, len(texts), rows):
            batch = loaded.tokenizer(
                list(texts[start : start + rows]),
                truncation=True,
                max_length=limit,
                padding=True,
                padding_side="right",
                return_tensors="pt",
            ).to(loaded.device)
            with torch.inference_mode():
                hidden = loaded.model(**batch).last_hidden_state
            found.append(pool(hidden, batch["attention_mask"], pooling).cpu().numpy())
        return np.concatenate(found)

    return encode


def main() -> None:
    options = _options()
    config = EncoderConfig(model=options.model, max_tokens=options.max_tokens)
    texts = read_corpus(options.texts).encoder_inputs(with_prompt=False)[: options.limit]
    loaded = load_model(config.model, dtype=config.dtype, device=options.device)
    ours = Encoder(config, device=options.device, batch_tokens=options.batch_tokens)
    ways: dict[str, Way] = {
        "ours": lambda given: ours.encode(given).array,
        "one by one": plain_loop(loaded, config, 1),
        f"{options.rows} rows, unsorted": plain_loop(loaded, config, options.rows),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    features = {name: way(texts[:2]) for name, way in ways.items()}  # loads our model, warms up all
    for turn in range(options.rounds):
        names = list(ways)
        for name in names[turn % 3 :] + names[: turn % 3]:
            started = time.perf_counter()
            features[name] = ways[name](texts)
            seconds[name].append(time.perf_counter() - started)
    _report(texts, loaded, seconds, features)


def _report(
    texts: Sequence[str],
    loaded: LoadedModel,
    seconds: dict[str, list[float]],
    features: dict[str, NDArray[np.float32]],
) -> None:
    threads = torch.get_num_threads()
    print(f"{loaded.identity.name} on {loaded.device} ({threads} threads), {len(texts)} texts")
    fastest, expected = statistics.median(seconds["ours"]), features["ours"]
    for name, times in seconds.items():
        median = statistics.median(times)
        gap = np.linalg.norm(features[name] - expected, axis=1) / np.linalg.norm(expected, axis=1)
        spread = f"{len(texts) / max(times):.1f} to {len(texts) / min(times):.1f}"
        print(
            f"{name:>22}: {len(texts) / median:8.1f} texts/s ({spread}), "
            f"ours is {median / fastest:.2f} times as fast, features differ by {gap.max():.1e}"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=sys.modules[__name__].__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--texts", type=Path, required=True, help="any file that mauve-lens compare reads")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--limit", type=int, default=200, help="texts, from the file's beginning")
    parser.add_argument("--max-tokens", type=int, default=160)
    parser.add_argument("--rows", type=int, default=16, help="rows a batch of the unsorted loop")
    parser.add_argument("--batch-tokens", type=int, default=None, help="padded tokens a batch of ours")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    return parser.parse_args()


if __name__ == "__main__":
    main()
