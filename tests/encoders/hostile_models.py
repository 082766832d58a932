"""Model folders that are damaged, lying or hostile: each changes a copy of a sound tiny one, in one way."""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from tests.tiny_models import WIDTH

Spoil = Callable[[Path], object]
CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
PICKLE = "pytorch_model.bin"


def change(name: str, **values: Any) -> Spoil:
    """Set values of a JSON file."""

    def spoil(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return spoil


def write(name: str, content: str | bytes) -> Spoil:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def remove(*names: str) -> Spoil:
    return lambda folder: [(folder / name).unlink() for name in names]


def weights(edit: Callable[[dict[str, torch.Tensor]], object]) -> Spoil:
    """Edit the tensors in place and write them back."""

    def spoil(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        edit(tensors)
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})

    return spoil


def all_of(*parts: Spoil) -> Spoil:
    return lambda folder: [part(folder) for part in parts]


def pipe(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return spoil


def endless(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("/dev/zero")

    return spoil


def shards(index: str) -> Spoil:
    """The weights under a shard's name, and an index that ought to name it."""
    rename: Spoil = lambda folder: (folder / WEIGHTS).rename(folder / "b.safetensors")  # noqa: E731
    return all_of(rename, write("model.safetensors.index.json", index))


class Touch:
    """Unpickled, it writes the file that shows that code was run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self._path,))


def pickled(folder: Path) -> None:
    """Weights of torch.save's form whose pickle runs code."""
    (folder / WEIGHTS).unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"wte.weight": Touch(folder / "was-run")}, protocol=2))
        archive.writestr("archive/version", "3\n")


def compressed_pickle(folder: Path) -> None:
    """Ten megabytes in ten kilobytes."""
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/999", bytes(10**7))


def listed(folder: Path) -> None:
    """A list of tensors where names are expected."""
    torch.save([torch.zeros(3)], folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def whole_pickle(folder: Path) -> None:
    """One weight of a pickle rounded."""
    tensors = load_file(folder / WEIGHTS)
    torch.save(tensors | {"transformer.ln_f.weight": tensors["transformer.ln_f.weight"].int()}, folder / PICKLE)
    (folder / WEIGHTS).unlink()


def whole(name: str) -> Spoil:
    """The header calls one tensor whole numbers."""

    def spoil(folder: Path) -> None:
        data = (folder / WEIGHTS).read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        header[name]["dtype"] = "I32"
        text = json.dumps(header).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return spoil


CODE = "import pathlib\npathlib.Path(__file__).with_name('was-run').touch()\n"
OWN_CODE = write(
    "own.py", CODE + "from transformers import PretrainedConfig\nclass C(PretrainedConfig): model_type='own'\n"
)

# How a folder is spoilt, and what the error names.
SPOILT: dict[str, tuple[Spoil, str]] = {
    "config a list": (write(CONFIG, "[]"), "config.json"),
    "config null": (write(CONFIG, "null"), "config.json"),
    "config not UTF-8": (write(CONFIG, b"\xff\xfe\x00{"), "config.json"),
    "config deep": (write(CONFIG, "[" * 100_000), "config.json"),
    "config a pipe": (pipe(CONFIG), "config.json"),
    "config endless": (endless(CONFIG), "config.json"),
    "config a folder": (all_of(remove(CONFIG), lambda f: (f / CONFIG).mkdir()), "config.json"),
    "config of ten gigabytes": (lambda f: os.truncate(f / CONFIG, 10**10), "10,000,000,000 bytes"),
    "tokenizer of ten gigabytes": (lambda f: os.truncate(f / TOKENIZER, 10**10), "10,000,000,000 bytes"),
    **{
        f"a kernel as {name}": (change(CONFIG, **{name: value}), "may name code of the hub. Allowed: ")
        for name, value in {
            "attn_implementation": "owner/kernel",
            "_attn_implementation": "owner/kernel@main:run",
            "_attn_implementation_internal": "owner/kernel",
            "text_config": {"parts": [{"attn_implementation": "owner/kernel"}]},
            "_attn_implementation ": {"": "sdpa", "vision_config": "owner/kernel"},
            "experts_implementation": "owner/kernel",
        }.items()
    },
    "a part that the type does not have": (
        change(CONFIG, text_config={"vocab_size": 9}),
        "config.json cannot be used: a model of type gpt2 has no text_config",
    ),
    "a kernel for generation": (
        write("generation_config.json", '{"attn_implementation": "paged|owner/kernel"}'),
        "generation_config.json cannot be used: attn_implementation = 'paged|owner/kernel' may name code",
    ),
    "a kernel of a processor": (
        write("preprocessor_config.json", '{"attn_implementation": ["owner/kernel"]}'),
        "preprocessor_config.json cannot be used",
    ),
    "type unknown": (change(CONFIG, model_type="toaster"), "config.json"),
    "type of pictures": (change(CONFIG, model_type="vit", architectures=["ViTModel"]), "vit"),
    **{
        f"{name} {value!r}": (change(CONFIG, **{name: value}), "hostile")
        for name, value in (("n_layer", 0), ("n_embd", -1), ("vocab_size", "x"), ("n_positions", 0), ("n_head", -1))
    },
    "positions of a hundred million": (change(CONFIG, n_positions=10**8), "more parameters than its weights hold"),
    "heads 7": (change(CONFIG, n_head=7), "hostile"),
    "layers a million": (change(CONFIG, n_layer=10**6), "10,000"),
    "layers 9,999": (change(CONFIG, n_layer=9_999), "9,999 layers"),
    "labels a thousand million": (change(CONFIG, num_labels=10**9), "10,000"),
    "words a thousand million": (change(CONFIG, vocab_size=10**9), "more parameters than its weights hold"),
    "width a million": (change(CONFIG, n_embd=10**6, n_head=1), "more parameters than its weights hold"),
    "epsilon a word": (change(CONFIG, layer_norm_epsilon="x"), "hostile"),
    "an adapter": (write("adapter_config.json", '{"base_model_name_or_path": "gpt2"}'), "adapter"),
    "tokenizer garbage": (write(TOKENIZER, "\x00garbage"), "okenizer"),
    "tokenizer a pipe": (pipe(TOKENIZER), "tokenizer.json"),
    "tokenizer and its settings missing": (remove(TOKENIZER, "tokenizer_config.json"), "tokenizer"),
    "tokenizer half there": (all_of(remove(TOKENIZER), write("vocab.json", '{"a": 0}')), "tokenizer"),
    "tokenizer settings a pipe": (pipe("tokenizer_config.json"), "tokenizer_config.json"),
    "tokenizer of no length": (change("tokenizer_config.json", model_max_length=0), "model_max_length"),
    "tokenizer without a token for unknown words": (
        change(TOKENIZER, model={"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "zz"}),
        "cannot read the texts: WordLevel error: Missing [UNK] token",
    ),
    "tokenizer that panics": (
        change(
            TOKENIZER,
            post_processor={
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "zz", "type_id": 0}}],
                "pair": [],
                "special_tokens": {},
            },
        ),
        "okenizer",
    ),
    "tokenizer of more special tokens than positions": (
        change(
            TOKENIZER,
            post_processor={
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "a", "type_id": 0}}] * 5000
                + [{"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}},
            },
        ),
        "adds 5,000 special tokens to each text, which leaves no room",
    ),
    "tokenizer that makes texts a million times longer": (
        change(
            TOKENIZER,
            normalizer={
                "type": "Sequence",
                "normalizers": [{"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 1000}] * 2,
            },
        ),
        "its normalizers make texts up to 1,000,000 times as long",
    ),
    "tokenizer that puts a megabyte before": (
        change(TOKENIZER, normalizer={"type": "Prepend", "prepend": "x" * 10**6}),
        "its normalizers make texts up to 1,000,001 times as long",
    ),
    "index garbage": (shards("x"), "index.json"),
    "index numbers": (shards('{"weight_map": {"wte.weight": 7}}'), "index.json"),
    "index leads out": (shards('{"weight_map": {"wte.weight": "../x.safetensors"}}'), "index.json"),
    "index of missing shards": (shards('{"weight_map": {"wte.weight": "a.safetensors"}}'), "a.safetensors"),
    "weights of a huge header": (write(WEIGHTS, struct.pack("<Q", 2**60) + b"{}"), WEIGHTS),
    "weights cut off": (lambda f: os.truncate(f / WEIGHTS, 3000), WEIGHTS),
    "weights a pipe": (pipe(WEIGHTS), WEIGHTS),
    "weights endless": (endless(WEIGHTS), WEIGHTS),
    "weights without tensors": (weights(lambda t: t.clear()), "missing 40: "),
    "weights lack one": (weights(lambda t: t.pop("transformer.h.1.ln_1.weight")), "missing 1: h.1.ln_1.weight"),
    "weights have more": (
        weights(lambda t: t.update({"transformer.h.1.extra": torch.zeros(3)})),
        "h.1.extra",
    ),
    "weights of more layers": (change(CONFIG, n_layer=2), "unexpected 1"),
    "weights of another shape": (
        weights(lambda t: t.update({"transformer.ln_f.weight": torch.zeros(5)})),
        "ln_f.weight",
    ),
    "a pickle with code": (pickled, "a pickle may contain only tensors. Allowed: safetensors"),
    "a pickle of a list": (listed, "it does not hold tensors by name"),
    "a weight of whole numbers": (
        whole("transformer.h.1.attn.c_attn.weight"),
        "The tensor transformer.h.1.attn.c_attn.weight in ",
    ),
    "a bias of truth values": (
        weights(lambda t: t.update({"transformer.h.1.mlp.c_fc.bias": torch.ones(4 * WIDTH, dtype=torch.bool)})),
        "holds whole numbers. Allowed: weights in floating point",
    ),
    "a pickle of whole numbers": (whole_pickle, "transformer.ln_f.weight in "),
    "a compressed pickle": (compressed_pickle, "compressed"),
    "a pickle of the old form": (
        all_of(remove(WEIGHTS), write("pytorch_model.bin", pickle.dumps({}))),
        "pytorch_model",
    ),
    "code for the settings": (
        all_of(OWN_CODE, change(CONFIG, model_type="own", auto_map={"AutoConfig": "own.C", "AutoModel": "own.C"})),
        "never run",
    ),
    "code for a known type's tokenizer": (
        all_of(
            OWN_CODE,
            remove(TOKENIZER),
            change("tokenizer_config.json", tokenizer_class="Own", auto_map={"AutoTokenizer": ["own.C", None]}),
        ),
        "okenizer",
    ),
}
