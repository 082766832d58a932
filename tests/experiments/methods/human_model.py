"""A causal model in place of the human distribution of the demo, for direct estimation (JMLR 2023, section 7.3.3).

    python -m tests.experiments.methods.human_model FOLDER

A causal model, by default the one that wrote the demo, is trained a little further on English Wikipedia, and written to
FOLDER with its tokenizer, to be named as ``--human-model``. The paragraphs are those of the articles in gensim's sample
of which no paragraph is a human text of the demo, so neither these texts nor their neighbors leak into the model. They
are joined, cut into windows of equal length, and read in a random order; only the last layers and the final
normalization learn, with Adam, one window a step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mauve_core.base.config import DEFAULT_MODEL
from mauve_core.base.errors import InputError
from mauve_core.demo.texts import Paragraph, paragraphs, read_manifest
from mauve_core.encoders.models import load_model

if TYPE_CHECKING:
    import torch

# Shorter than the demo's least paragraph, because few articles are left.
MIN_WORDS = 30


def page_of(paragraph_id: str) -> str:
    """Wikipedia page of a paragraph."""
    return paragraph_id.partition("-")[0]


def unused(found: Iterable[Paragraph], human_ids: Iterable[str]) -> list[Paragraph]:
    """Paragraphs of the articles of which no paragraph is among the human texts."""
    used = {page_of(human_id) for human_id in human_ids}
    return [paragraph for paragraph in found if page_of(paragraph.id) not in used]


def windows(tokenizer: Any, texts: Iterable[str], length: int) -> torch.Tensor:
    """(windows, length) token ids of the texts, one after another with the end-of-text token between them.

    Tokens at the end that fill no window are left out; InputError if there is no full one.
    """
    import torch

    ids = [token for text in texts for token in (*tokenizer(text)["input_ids"], tokenizer.eos_token_id)]
    count = len(ids) // length
    if count == 0:
        raise InputError("Too few tokens to train on", allowed=f"at least {length}", received=str(len(ids)))
    return torch.tensor(ids[: count * length]).reshape(count, length)


def train(model: Any, batches: torch.Tensor, *, layers: int, epochs: int, rate: float, seed: int) -> list[float]:
    """Train the last layers and the final normalization; return the mean loss of each epoch, in nats per token."""
    import torch

    body = model.model
    if not 1 <= layers <= len(body.layers):
        raise InputError("No such number of layers", allowed=f"1 to {len(body.layers)}", received=str(layers))
    learned = [*body.norm.parameters(), *(each for layer in body.layers[-layers:] for each in layer.parameters())]
    for parameter in learned:
        parameter.requires_grad_()
    optimizer = torch.optim.Adam(learned, lr=rate)
    rng, means = np.random.default_rng(seed), list[float]()
    for epoch in range(epochs):
        losses = []
        for index in rng.permutation(len(batches)):
            start = time.perf_counter()
            window = batches[index : index + 1]
            loss = model(input_ids=window, labels=window).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
            sys.stderr.write(f"epoch {epoch + 1}, {losses[-1]:.3f} nats, {time.perf_counter() - start:.1f} s\n")
        means.append(float(np.mean(losses)))
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="a Llama-shaped causal model to start from")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=160, help="length of a window")
    parser.add_argument("--windows", type=int, help="train on this many windows at most")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = unused(paragraphs(MIN_WORDS), (each[0] for each in read_manifest()["human"]["excerpts"]))
    loaded = load_model(options.model, device="cpu", with_head=True)
    batches = windows(loaded.tokenizer, (paragraph.text for paragraph in chosen), options.tokens)[: options.windows]
    means = train(
        loaded.model, batches, layers=options.layers, epochs=options.epochs, rate=options.rate, seed=options.seed
    )
    loaded.model.save_pretrained(options.folder)
    loaded.tokenizer.save_pretrained(options.folder)
    articles = len({page_of(paragraph.id) for paragraph in chosen})
    sys.stdout.write(
        f"{len(batches)} windows of {options.tokens} tokens from {len(chosen)} paragraphs of {articles} articles; "
        f"mean loss by epoch {', '.join(f'{mean:.3f}' for mean in means)} nats per token\n"
    )


if __name__ == "__main__":
    main()
