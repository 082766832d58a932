"""Our encoder beside mauve-text and plain transformers loops: the same texts, weights and machine.

    python benchmarks/encoder_peer.py --texts FILE [--documents 8] [--rounds 5] [--out FILE.md]

FILE is any file that mauve-lens compare reads. Documents of one to five of its texts, drawn with a seed, are up to
1,024 tokens long; they are encoded whole and cut at 160 tokens, the last token's state of the last layer in float32.
The models are a GPT-2 of 12 layers and random weights, whose tokenizer is trained on FILE, and the bundled ones.

mauve-text gets its texts as tokens, and whichever of its batch sizes is fastest in three first passes each. All
others read texts and tokenize them. No way loads its model within the time that is taken. The ways run in turn, each
round beginning with another one, and a ratio is the median over rounds of a way's time over ours in the same round.

A last way encodes nothing: it multiplies as many rows as there are tokens by the weight matrices of all layers but the
last, with the same library and threads. Whoever does these products in float32 at that speed cannot be faster than it;
mauve-text's time over that of the products is thus the most that anything could gain.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from frame import Spent, arguments, in_turn, page, ratios, spent, table, write
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import Encoder
from mauve_core.encoders.batching import padded_tokens, plan_batches
from mauve_core.encoders.encoder import BATCH_TOKENS
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.encoders.tokenizing import Tokenized, tokenize
from mauve_core.texts import read_corpus

Array = NDArray[np.float32]
Way = Callable[[], Array]

OURS, SORTED = "ours", "transformers, sorted and padded (ours before)"
# Model, tokens a text at most, and how many times --documents texts.
CASES = (("gpt2", 1024, 1), ("gpt2", 160, 2), ("smollm2-135m", 160, 2), ("minilm", 256, 4))

PRODUCTS, PRODUCT_ROWS = "the weights' products alone", 1024

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)


def documents(texts: Sequence[str], count: int) -> list[str]:
    """Texts joined in ones to fives, so that lengths spread up to the 1,024 tokens of GPT-2."""
    rng = np.random.default_rng(0)
    sizes = rng.choice([1, 1, 1, 2, 2, 3, 4, 5], size=count)
    return ["\n\n".join(texts[index] for index in rng.choice(len(texts), size, replace=False)) for size in sizes]


def make_gpt2(folder: Path, texts: Sequence[str], layers: int = 12, width: int = 768) -> str:
    """A GPT-2 with random weights and a byte-level tokenizer that is trained on the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    end = "<|endoftext|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=20_000, special_tokens=[end], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=1024, eos_token=end, unk_token=end)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(wrapped), n_layer=layers, n_embd=width, n_head=width // 64, bos_token_id=0, eos_token_id=0
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return str(folder)


def peer(loaded: LoadedModel, tokens: Tokenized, rows: int) -> Way:
    """mauve-text's featurizing of tokens, ``rows`` texts at a time."""
    from mauve.utils import featurize_tokens_from_model

    given = [torch.from_numpy(row.astype(np.int64))[None] for row in tokens.ids]
    return lambda: np.asarray(featurize_tokens_from_model(loaded.model, given, rows), dtype=np.float32)


def unsorted_loop(loaded: LoadedModel, texts: Sequence[str], limit: int, rows: int) -> Way:
    """What one writes first: ``rows`` texts at a time in their order, padded to the longest of each batch."""

    def encode() -> Array:
        found = []
        for start in range(0, len(texts), rows):
            batch = loaded.tokenizer(
                list(texts[start : start + rows]),
                truncation=True,
                max_length=limit,
                padding=True,
                padding_side="right",
                return_tensors="pt",
            )
            with torch.inference_mode():
                hidden = loaded.model(**batch).last_hidden_state
            ends = batch["attention_mask"].sum(dim=1) - 1
            found.append(hidden[torch.arange(len(hidden)), ends].numpy())
        return np.concatenate(found)

    return encode


def products(loaded: LoadedModel, tokens: int) -> Way:
    """The matrix products of all layers but the last, on random rows; no features come of it."""
    from transformers.pytorch_utils import Conv1D

    layers = next(
        module for module in loaded.model.modules() if isinstance(module, torch.nn.ModuleList) and len(module) > 1
    )
    weights = [
        module.weight if isinstance(module, Conv1D) else module.weight.T
        for layer in list(layers)[:-1]
        for module in layer.modules()
        if isinstance(module, Conv1D | torch.nn.Linear)
    ]
    sizes = [min(PRODUCT_ROWS, tokens - start) for start in range(0, tokens, PRODUCT_ROWS)]
    rows = {(size, len(weight)): torch.rand(size, len(weight)) for size in sizes for weight in weights}

    def multiply() -> Array:
        with torch.inference_mode():
            for size in sizes:
                for weight in weights:
                    torch.mm(rows[size, len(weight)], weight)
        return np.empty((0, 0), dtype=np.float32)

    return multiply


def case(name: str, folder: str, limit: int, texts: list[str], rounds: int) -> str:
    """A section of the page."""
    config = EncoderConfig(model=folder, max_tokens=limit, pooling="last")
    ours, plain = Encoder(config, device="cpu"), Encoder(config, device="cpu", packed=False)
    loaded = load_model(folder, device="cpu")
    tokens = tokenize(texts, loaded, limit)
    sizes = [rows for rows in BATCH_SIZES if rows < 2 * len(texts)]
    # The quickest of three passes each: what slows a pass is the machine, and a wrong choice would flatter us.
    scan = {rows: min(spent(peer(loaded, tokens, rows)).wall for _ in range(3)) for rows in sizes}
    best = min(scan, key=scan.__getitem__)
    mauve_text = f"mauve-text, batches of {best}"
    ways: dict[str, Way] = {
        OURS: lambda: ours.encode(texts).array,
        mauve_text: peer(loaded, tokens, best),
        SORTED: lambda: plain.encode(texts).array,
        "transformers, one by one": unsorted_loop(loaded, texts, tokens.limit, 1),
        "transformers, 16 rows in order": unsorted_loop(loaded, texts, tokens.limit, 16),
        PRODUCTS: products(loaded, int(tokens.lengths.sum())),
    }
    ours.encode(texts[:1])  # loads the model
    plain.encode(texts[:1])
    found = in_turn({name: lambda _, way=way: way() for name, way in ways.items()}, rounds)
    padding = padded_tokens(tokens.lengths, plan_batches(tokens.lengths, BATCH_TOKENS["cpu"]))
    in_order = padded_tokens(tokens.lengths, np.split(np.arange(len(texts)), np.arange(16, len(texts), 16)))
    real = int(tokens.lengths.sum())
    scanned = ", ".join(f"{rows}: {seconds / scan[best]:.2f}" for rows, seconds in scan.items())
    shape = f"{loaded.model.config.num_hidden_layers} layers of {loaded.model.config.hidden_size}"
    most = statistics.median(ratios(found, mauve_text, PRODUCTS))
    header = ["way", "time / ours", "its range over rounds", "processor time / ours", "features differ by"]
    return f"""## {name} ({shape}), texts cut at {tokens.limit} tokens

{len(texts)} texts of {tokens.lengths.min()} to {tokens.lengths.max()} tokens, median {np.median(tokens.lengths):.0f}.
Padding: none in ours; {padding / real - 1:.1%} of the real tokens in sorted batches, {in_order / real - 1:.0%} in 16
rows in order.
mauve-text by batch size, time over that of its fastest: {scanned}.
mauve-text takes {most:.2f} times as long as the weights' products alone: the most that float32 could gain on it.

{table(header, [_cells(way, found) for way in ways])}"""


def _cells(way: str, found: dict[str, list[Spent]]) -> list[str]:
    wall, processor = (ratios(found, way, OURS, clock) for clock in ("wall", "processor"))
    expected, differing = found[SORTED][-1].result, ""
    if way != PRODUCTS:
        gap = np.linalg.norm(found[way][-1].result - expected, axis=1) / np.linalg.norm(expected, axis=1)
        differing = f"{gap.max():.0e}"
    spread = f"{min(wall):.2f} to {max(wall):.2f}"
    return [way, f"{statistics.median(wall):.2f}", spread, f"{statistics.median(processor):.2f}", differing]


def report(options: argparse.Namespace) -> str:
    texts = read_corpus(options.texts).encoder_inputs(with_prompt=True)
    with tempfile.TemporaryDirectory() as scratch:
        gpt2 = make_gpt2(Path(scratch) / "gpt2", texts)
        sections = []
        for name, limit, times in CASES:
            if not options.only or name in options.only:
                folder, chosen = (gpt2 if name == "gpt2" else name), documents(texts, times * options.documents)
                sections.append(case(name, folder, limit, chosen, options.rounds))
    about = f"""Medians over {options.rounds} rounds in which the ways take turns; float32, last token of the last
layer. The last column is the largest norm of a row's difference from the sorted loop's, over that row's norm.
{torch.get_num_threads()} threads; load average of the machine at the end, {os.getloadavg()[1]:.1f}: where it exceeds
the threads, others shared the cores."""
    packages = ("torch", "transformers", "mauve-text")
    return page("Encoding on a CPU beside its alternatives", about, *sections, packages=packages)


if __name__ == "__main__":
    parser = arguments(__doc__, documents=8, rounds=5)
    parser.add_argument("--texts", type=Path, required=True, help="any file that mauve-lens compare reads")
    parser.add_argument("--only", nargs="*", default=[], help="models to take, of gpt2, smollm2-135m, minilm")
    options = parser.parse_args()
    write(report(options), options.out)
