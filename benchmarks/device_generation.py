"""Generation, for benchmarks/device.py: our decoder beside transformers alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from device_bench import Bench

from mauve_core.decoding import GenerationSettings, Prompts, generate_files
from mauve_core.encoders.models import LoadedModel, load_model


def generation(bench: Bench) -> None:
    """Our decoder beside plain generate; a static cache comes last, because it compiles."""
    texts = [" ".join(text.split()[:24]) for text in bench.documents[: bench.scale.texts]]
    prompts = Prompts(tuple(map(str, range(len(texts)))), tuple(texts))
    loaded = load_model(str(bench.scratch / "small"), dtype="float32", device=bench.device, with_head=True)
    _generate(bench, "ours", _ours(loaded, prompts))
    _generate(bench, "plain generate, one batch", _plain_generate(loaded, texts, {}))
    static = _plain_generate(loaded, texts, {"cache_implementation": "static"})
    _generate(bench, "generate with a static cache, one batch", static, compiles=True)


def _generate(bench: Bench, name: str, way: Callable[[int], object], *, compiles: bool = False) -> None:
    new = bench.scale.new_tokens
    case = f"{bench.scale.texts} texts of {new} tokens, float32"
    with bench.way("generation", case, name) as row:
        first = bench.seconds_of(lambda: way(new if compiles else 2))
        seconds = bench.seconds_of(lambda: way(new))
        cells = {"tokens a second": f"{bench.scale.texts * new / seconds:,.0f}"}
        if compiles:
            cells["first call"] = f"{first:.3g} s, compiling included"
        bench.send(replace(row, cost=seconds, cells=cells))


def _ours(loaded: LoadedModel, prompts: Prompts) -> Callable[[int], object]:
    def write(tokens: int) -> object:
        settings = GenerationSettings(max_new_tokens=tokens, min_new_tokens=tokens)
        with tempfile.TemporaryDirectory() as out:
            return generate_files(loaded, prompts, ["nucleus:p=0.95"], Path(out), settings=settings)

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
