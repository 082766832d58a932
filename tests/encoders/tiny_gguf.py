"""A tiny Llama as a GGUF file, its weights in float32."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
from numpy.typing import NDArray
from safetensors.numpy import load_file

NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
PARTS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.o_proj": "attn_output",
    **{f"self_attn.{part}_proj": f"attn_{part}" for part in "qkv"},
    **{f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")},
}


def write_gguf(folder: Path, path: Path, *, without: str = "") -> Path:
    """The checkpoint in ``folder`` as one file, with one tensor left out where one is named."""
    config = json.loads((folder / "config.json").read_text())
    heads = {"q": config["num_attention_heads"], "k": config["num_key_value_heads"]}
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads["q"])
    writer.add_head_count_kv(heads["k"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    _add_tokenizer(writer, json.loads((folder / "tokenizer.json").read_text())["model"])
    for name, values in load_file(folder / "model.safetensors").items():
        part = name.removesuffix(".weight").split("self_attn.")[-1].removesuffix("_proj")
        array = _paired(values, heads[part]) if part in heads else values
        if (tensor := _name(name)) != without:
            writer.add_tensor(tensor, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: gguf.GGUFWriter, model: dict[str, object]) -> None:
    vocabulary, merges = model["vocab"], model["merges"]
    assert isinstance(vocabulary, dict)
    assert isinstance(merges, list)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * len(tokens))
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)


def _name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem in NAMES:
        return f"{NAMES[stem]}.weight"
    _, _, index, part = stem.split(".", 3)
    return f"blk.{index}.{PARTS[part]}.weight"


def _paired(values: NDArray[object], heads: int) -> NDArray[object]:
    """Rotary pairs side by side, as llama.cpp keeps them; transformers pairs the halves of a head."""
    rows, columns = values.shape
    return values.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)
