"""Generation, for benchmarks/device.py: our fixed step and our way through ``generate``, beside transformers alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from device_bench import Bench

from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, generate_files, parse_decoder
from mauve_core.decoding.generate import DEFAULT_BATCH_ROWS, FixedShapes, fixed_shapes_of
from mauve_core.encoders.models import LoadedModel, load_model


def generation(bench: Bench) -> None:
    """Ours beside plain generate; a static cache comes last, because it compiles. The toy takes our fixed step too."""
    texts = [" ".join(text.split()[:24]) for text in bench.documents[: bench.scale.texts]]
    prompts = Prompts(tuple(map(str, range(len(texts)))), tuple(texts))
    loaded = load_model(str(bench.scratch / "small"), dtype="float32", device=bench.device, with_head=True)
    _generate(bench, "ours", _ours(loaded, prompts), first="")
    _generate(bench, "ours through generate, batches of 128", _ours_through_generate(loaded, prompts))
    _generate(bench, "plain generate, one batch", _plain_generate(loaded, texts, {}))
    static = _plain_generate(loaded, texts, {"cache_implementation": "static"})
    _generate(bench, "generate with a static cache, one batch", static, first=", compiling included")


def _generate(bench: Bench, name: str, way: Callable[[int], object], *, first: str | None = None) -> None:
    """A row of the second call; with ``first``, words about the first one, that is as long and told too."""
    new = bench.scale.new_tokens
    case = f"{bench.scale.texts} texts of {new} tokens, float32"
    with bench.way("generation", case, name) as row:
        warm_up = bench.seconds_of(lambda: way(2 if first is None else new))
        seconds = bench.seconds_of(lambda: way(new))
        cells = {"tokens a second": f"{bench.scale.texts * new / seconds:,.0f}"}
        if first is not None:
            cells["first call"] = f"{warm_up:.3g} s{first}"
        bench.send(replace(row, cost=seconds, cells=cells))


DECODER = "nucleus:p=0.95"


def _ours(loaded: LoadedModel, prompts: Prompts) -> Callable[[int], object]:
    """As ``generate_files`` writes on a CUDA device; elsewhere the same step, all prompts in one batch."""

    def write(tokens: int) -> object:
        settings = GenerationSettings(max_new_tokens=tokens, min_new_tokens=tokens)
        if fixed_shapes_of(loaded) is None:
            shapes = FixedShapes(loaded)
            return continue_prompts(loaded, prompts, parse_decoder(DECODER), settings, shapes=shapes)
        with tempfile.TemporaryDirectory() as out:
            return generate_files(loaded, prompts, [DECODER], Path(out), settings=settings)

    return write


def _ours_through_generate(loaded: LoadedModel, prompts: Prompts) -> Callable[[int], object]:
    """As models are written with that have no fixed step."""
    ids = range(len(prompts.ids))
    batches = [prompts.chosen(ids[start : start + DEFAULT_BATCH_ROWS]) for start in ids[::DEFAULT_BATCH_ROWS]]

    def write(tokens: int) -> object:
        settings = GenerationSettings(max_new_tokens=tokens, min_new_tokens=tokens)
        return [continue_prompts(loaded, batch, parse_decoder(DECODER), settings) for batch in batches]

    return write


def _plain_generate(loaded: LoadedModel, texts: Sequence[str], options: dict[str, Any]) -> Callable[[int], object]:
    tokenizer = loaded.tokenizer

    def write(tokens: int) -> object:
        batch = tokenizer(list(texts), padding=True, padding_side="left", return_tensors="pt").to(loaded.device)
        found = loaded.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            do_sample=True,
            top_p=0.95,
            top_k=0,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            pad_token_id=tokenizer.pad_token_id,
            **options,
        )
        return tokenizer.batch_decode(found[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)

    return write
