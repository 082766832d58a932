"""Model folders that are damaged, lying or hostile: an error that names what is wrong, and no code of theirs is run."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.modules import module as torch_module
from transformers import AutoModel

from mauve_core.__main__ import main
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, parse_decoder
from mauve_core.encoders import Encoder, encode
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.encoders.devices import resolve_device
from mauve_core.encoders.gguf_files import check_header
from mauve_core.encoders.likelihood import negative_log_likelihoods
from mauve_core.encoders.models import load_model, load_tokenizer
from tests.encoders.hostile_models import CODE, OWN_CODE, SPOILT, all_of, change, weights, write
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.encoders.tiny_gguf import write_gguf
from tests.tiny_models import WIDTH

Tiny = Callable[[str], str]


@pytest.fixture
def hostile(tiny: Tiny, tmp_path: Path) -> Path:
    """A copy of the tiny GPT-2, to be spoilt."""
    return Path(shutil.copytree(tiny("gpt2"), tmp_path / "hostile"))


def features(folder: Path) -> Any:
    return encode(["Some text."], EncoderConfig(str(folder)), device="cpu")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person was asked; they answer yes."""
    questions: list[str] = []

    def yes(question: object = "") -> str:
        questions.append(str(question))
        return "y"

    monkeypatch.setattr("builtins.input", yes)
    return questions


def test_the_copy_is_sound_before_it_is_spoilt(hostile: Path) -> None:
    assert features(hostile).array.shape == (1, WIDTH)


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_folder_is_named(hostile: Path, name: str, asked: list[str]) -> None:
    spoil, message = SPOILT[name]
    spoil(hostile)
    with pytest.raises(InputError) as caught:
        features(hostile)
    assert message in str(caught.value)
    assert asked == []
    assert not (hostile / "was-run").exists()


@pytest.mark.parametrize("name", ["code for the settings", "weights without tensors"])
def test_the_command_says_so_on_one_line(
    hostile: Path, name: str, asked: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil, message = SPOILT[name]
    spoil(hostile)
    texts = hostile.with_name("texts.jsonl")
    texts.write_text('{"text": "Some text."}\n')
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    monkeypatch.delenv("MAUVE_LENS_DEBUG", raising=False)
    out = hostile.with_name("features.npy")
    assert main(["encode", str(texts), "--encoder", str(hostile), "--out", str(out), "--device", "cpu", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert message in said
    assert asked == []
    assert not (hostile / "was-run").exists()
    assert not out.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        all_of(OWN_CODE, change("config.json", auto_map={"AutoConfig": "own.C", "AutoModelForCausalLM": "own.C"})),
        all_of(OWN_CODE, change("tokenizer_config.json", auto_map={"AutoTokenizer": ["own.C", "own.C"]})),
        all_of(lambda f: (f / "custom_generate").mkdir(), write("custom_generate/generate.py", CODE)),
        all_of(OWN_CODE, write("processor_config.json", '{"auto_map": {"AutoProcessor": "own.C"}}')),
    ],
)
def test_code_beside_a_known_model_is_left_alone(
    hostile: Path, spoil: Callable[[Path], object], asked: list[str]
) -> None:
    expected = features(hostile).array
    spoil(hostile)
    assert (features(hostile).array == expected).all()
    loaded = load_model(str(hostile), device="cpu", with_head=True)
    ids = torch.tensor([loaded.tokenizer("Some text.")["input_ids"]])
    loaded.model.generate(ids, max_new_tokens=2, do_sample=False)
    assert asked == []
    assert not list(hostile.rglob("was-run"))


@pytest.mark.parametrize("known", ["eager", "sdpa", None, {"": "sdpa", "text_config": "eager"}])
def test_an_attention_that_transformers_has_may_be_named(hostile: Path, known: Any) -> None:
    expected = features(hostile).array
    change("config.json", _attn_implementation=known)(hostile)
    change("config.json", parts={"attn_implementation": "paged|eager"})(hostile)
    assert relative_error(features(hostile).array, expected) < RELATIVE


@pytest.mark.parametrize("name", ["code for the settings", "tokenizer a pipe", "tokenizer and its settings missing"])
def test_a_tokenizer_alone_is_held_to_the_same(hostile: Path, name: str) -> None:
    spoil, message = SPOILT[name]
    spoil(hostile)
    with pytest.raises(InputError, match=message):
        load_tokenizer(str(hostile))


def test_what_a_bare_model_leaves_out_may_be_there_and_its_pooler_may_be_missing(tiny: Tiny) -> None:
    for name in ("llama", "roberta", "bert"):  # a head that is not tied; heads, and a pooler that is missing
        assert features(Path(tiny(name))).array.shape == (1, WIDTH)


def test_a_head_that_is_missing_is_named_unless_it_is_tied(tiny: Tiny, tmp_path: Path) -> None:
    for name in ("gpt2", "llama"):
        folder = shutil.copytree(tiny(name), tmp_path / name)
        AutoModel.from_pretrained(folder).save_pretrained(folder)
    load_model(str(tmp_path / "gpt2"), device="cpu", with_head=True)
    load_model(str(tmp_path / "llama"), device="cpu")
    with pytest.raises(ModelUnavailableError, match=r"missing 1: lm_head\.weight"):
        load_model(str(tmp_path / "llama"), device="cpu", with_head=True)


def test_a_bare_model_with_weights_left_over_is_named(hostile: Path) -> None:
    AutoModel.from_pretrained(hostile).save_pretrained(hostile)
    weights(lambda tensors: tensors.update({"h.3.ln_1.weight": torch.zeros(WIDTH)}))(hostile)
    with pytest.raises(ModelUnavailableError, match=r"unexpected 1: h\.3\.ln_1\.weight"):
        features(hostile)


def test_a_tokenizer_of_another_model_is_named(tiny: Tiny, hostile: Path) -> None:
    settings = json.loads((hostile / "tokenizer.json").read_text())
    settings["model"]["vocab"]["more"] = 400
    (hostile / "tokenizer.json").write_text(json.dumps(settings))
    with pytest.raises(ModelUnavailableError, match=r"up to 400\b.*0 to 399"):
        features(hostile)


def test_an_added_token_without_an_embedding_is_refused_where_a_text_has_it(hostile: Path) -> None:
    more = load_tokenizer(str(hostile))
    more.add_tokens(["<more>"])
    more.pad_token = "<more>"
    more.save_pretrained(hostile)
    assert features(hostile).array.shape == (1, WIDTH)
    padded = Encoder(EncoderConfig(str(hostile)), device="cpu", packed=False)
    assert padded.encode(["Short.", "Not as short."]).array.shape == (2, WIDTH)
    with pytest.raises(InputError, match=r"outside 0 to 399 in text 1 \(counted from 0\)"):
        padded.encode(["Some text.", "And <more>."])
    loaded = load_model(str(hostile), device="cpu", with_head=True)
    with pytest.raises(InputError, match="outside 0 to 399 in text 0"):
        negative_log_likelihoods(loaded, ["And <more>."])
    prompts = Prompts(ids=("a",), texts=("And <more>.",))
    with pytest.raises(InputError, match="outside 0 to 399 in text 0"):
        continue_prompts(loaded, prompts, parse_decoder("greedy"), GenerationSettings(max_new_tokens=2))


def test_an_old_pickle_of_plain_tensors_still_loads(hostile: Path) -> None:
    expected = features(hostile).array
    model = AutoModel.from_pretrained(hostile)
    torch.save(model.state_dict(), hostile / "pytorch_model.bin")
    (hostile / "model.safetensors").unlink()
    assert (features(hostile).array == expected).all()


def test_nothing_counts_modules_once_a_model_is_there(hostile: Path) -> None:
    features(hostile)
    change("config.json", n_embd=10**6, n_head=1)(hostile)
    with pytest.raises(ModelUnavailableError, match="more parameters"):
        features(hostile)
    assert not torch_module._global_module_registration_hooks
    assert not torch_module._global_parameter_registration_hooks
    assert not torch_module._global_buffer_registration_hooks


def test_a_model_larger_than_the_memory_is_refused(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"SC_PHYS_PAGES": 50, "SC_PAGE_SIZE": 4096}  # 200 kB; the model has 212
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    with pytest.raises(InputError, match="does not fit in this machine's memory"):
        features(hostile)
    assert encode(["Some text."], EncoderConfig(str(hostile), dtype="bfloat16"), device="cpu").array.shape == (1, WIDTH)


@pytest.mark.parametrize("device", ["mps", "xla", "meta", "cuda", "cuda:99", "gpu", "", "cpu:7", "vulkan", "cpu,meta"])
def test_devices_that_are_not_there(
    tiny: Tiny, tmp_path: Path, device: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "Some text."}\n')
    out = str(tmp_path / "features.npy")
    assert main(["encode", str(texts), "--encoder", tiny("gpt2"), "--out", out, "--device", device]) == 2
    assert "device" in capsys.readouterr().err.splitlines()[-1]


def test_devices_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert [resolve_device(name) for name in ("cpu", "cuda:1", "mps")] == ["cpu", "cuda:1", "mps"]
    with pytest.raises(InputError, match="cuda:0, cuda:1"):
        resolve_device("cuda:2")


def gguf(*parts: bytes, entries: bytes = b"", magic: bytes = b"GGUF", version: int = 3, **counted: int) -> bytes:
    """A file of these fields and tensor entries, counted as told."""
    kept = {"tensors": int(bool(entries)), "fields": len(parts)} | counted
    header = magic + struct.pack("<IQQ", version, kept["tensors"], kept["fields"])
    return header + b"".join(parts) + entries


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def field(name: bytes, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def tensor(*shape: int) -> bytes:
    return text(b"t") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)


LLAMA = field(b"general.architecture", 8, text(b"llama"))
GGUFS = {
    "nothing": b"",
    "another magic": gguf(LLAMA, magic=b"FUGG"),
    "version 0": gguf(LLAMA, version=0),
    "version 9": gguf(LLAMA, version=9),
    "many tensors": gguf(LLAMA, tensors=10**15),
    "many fields": gguf(LLAMA, fields=10**15),
    "more fields than there are": gguf(LLAMA, fields=99),
    "more tensors than there are": gguf(LLAMA, tensors=99),
    "a long string": gguf(struct.pack("<Q", 2**62)),
    "a field of no type": gguf(field(b"a", 99, b"")),
    "a list of no type": gguf(field(b"a", 9, struct.pack("<IQ", 9, 1))),
    "a long list of numbers": gguf(field(b"a", 9, struct.pack("<IQ", 4, 2**61))),
    "a long list of strings": gguf(field(b"a", 9, struct.pack("<IQ", 8, 2**61))),
    "a million layers": gguf(LLAMA, field(b"llama.block_count", 4, struct.pack("<I", 10**6))),
    "a tensor of many dimensions": gguf(LLAMA, entries=tensor(*[1] * 99)),
    "a tensor of many numbers": gguf(LLAMA, entries=tensor(2**40, 2**20)),
    "nothing else": gguf(LLAMA),
    "no architecture": gguf(),
}


@pytest.mark.parametrize("name", GGUFS)
def test_gguf_files_that_lie(tmp_path: Path, name: str) -> None:
    path = tmp_path / "lying.gguf"
    path.write_bytes(GGUFS[name])
    with pytest.raises(ModelUnavailableError, match=r"lying\.gguf"):
        load_model(str(path), device="cpu")


@pytest.mark.slow
def test_a_gguf_file_is_read_alone_and_whole(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    sound = write_gguf(Path(tiny("llama")), tmp_path / "sound.gguf")
    ids = [[5, 7, 9, 11, 13]]
    expected = Encoder(EncoderConfig(tiny("llama")), device="cpu").encode_tokens(ids).array
    (tmp_path / "own.py").write_text(CODE)
    (tmp_path / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": ["own.C", "own.C"]}}')
    found = Encoder(EncoderConfig(str(sound)), device="cpu").encode_tokens(ids).array
    assert relative_error(found, expected) < RELATIVE
    assert asked == []
    lacking = write_gguf(Path(tiny("llama")), tmp_path / "lacking.gguf", without="blk.1.attn_norm.weight")
    with pytest.raises(
        ModelUnavailableError, match=r"lacking\.gguf.*missing 1: model\.layers\.1\.input_layernorm\.weight"
    ):
        load_model(str(lacking), device="cpu")
    assert [path.name[:6] for path in (tmp_path / "home" / "models").iterdir()] == ["sound-"]


def test_a_gguf_file_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(InputError, match="a named pipe"):
        load_model(str(tmp_path / "pipe.gguf"), device="cpu")


@pytest.mark.skipif(PACKAGED["smollm2-135m"].locate() is None, reason="the smollm2-135m package is not installed")
def test_the_header_of_a_sound_gguf_file() -> None:
    path = PACKAGED["smollm2-135m"].locate()
    assert path is not None
    held = check_header(path)
    assert (held.tensors, held.numbers) == (272, 134_515_008)  # SmolLM2-135M's, its output tied to its embedding
