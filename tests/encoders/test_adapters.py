"""LoRA adapters that peft saved, merged into their base models, against peft's own forward pass."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, parse_decoder
from mauve_core.encoders import adapters, encode, hub, model_files
from mauve_core.encoders.adapters import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from mauve_core.encoders.catalogue import PIXELS, check_model, identify, must_be_fetched, names_files
from mauve_core.encoders.encoder import feature_key
from mauve_core.encoders.models import load_model
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

Tiny = Callable[[str], str]

TARGETS = {"gpt2": ["c_attn", "c_fc"], "llama": ["q_proj", "down_proj"], "roberta": ["query", "dense"]}
HEADS = {"gpt2": AutoModelForCausalLM, "llama": AutoModelForCausalLM, "roberta": AutoModelForMaskedLM}
TEXTS = SENTENCES[:4]


def save_adapter(base: str, folder: Path, *, kind: str, bare: bool = False, zero: bool = False, **settings: Any) -> Any:
    """Save an adapter with random weights, or with those at which training begins, as peft does; return the model."""
    model = (AutoModel if bare else HEADS[kind]).from_pretrained(base)
    torch.manual_seed(len(folder.name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT says what it sets by itself
        config = peft.LoraConfig(r=4, lora_alpha=6, target_modules=TARGETS[kind], **settings)
        adapted = peft.get_peft_model(model, config)
    if not zero:
        with torch.no_grad():
            for name, parameter in adapted.named_parameters():
                if "lora_" in name and "magnitude" not in name:
                    parameter.normal_(std=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapted.save_pretrained(folder)
    return adapted


def by_hand(adapted: Any, base: str, *, last: bool) -> NDArray[np.float32]:
    """The token's last hidden state that stands for each text, one text at a time through peft's own model."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    inner = adapted.base_model.model.base_model.eval()
    rows = []
    for text in TEXTS:
        with torch.no_grad():
            hidden = inner(tokenizer(text, return_tensors="pt")["input_ids"]).last_hidden_state[0]
        rows.append(hidden[-1 if last else 0].numpy())
    return np.stack(rows)


def features(name: str) -> NDArray[np.float32]:
    return encode(TEXTS, EncoderConfig(name), device="cpu").array


@pytest.mark.parametrize("bare", [False, True], ids=["saved with its head", "saved bare"])
@pytest.mark.parametrize("kind", TARGETS)
def test_features_are_those_of_peft(tiny: Tiny, tmp_path: Path, kind: str, bare: bool) -> None:
    adapted = save_adapter(tiny(kind), tmp_path / "adapter", kind=kind, bare=bare)
    found = features(str(tmp_path / "adapter"))
    assert relative_error(found, by_hand(adapted, tiny(kind), last=kind != "roberta")) < RELATIVE
    assert np.abs(found - features(tiny(kind))).max() > 0.1, "the adapter changes nothing"


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_weights_are_those_of_the_formula(tiny: Tiny, tmp_path: Path, kind: str) -> None:
    """W + (alpha / r) B A (Hu et al., 2022, section 4.1), in double precision and without peft."""
    save_adapter(tiny(kind), tmp_path / "adapter", kind=kind)
    tensors = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    before, after = (
        load_model(name, device="cpu").model.state_dict() for name in (tiny(kind), str(tmp_path / "adapter"))
    )
    changed = set()
    for key in (key for key in tensors if key.endswith(".lora_A.weight")):
        a, b = tensors[key].double(), tensors[key.replace("lora_A", "lora_B")].double()
        module = key.removeprefix("base_model.model.").partition(".")[2].removesuffix(".lora_A.weight")
        name, step = f"{module}.weight", 6 / 4 * b @ a
        wanted = before[name].double() + (step.T if kind == "gpt2" else step)  # GPT-2 stores its weights transposed
        assert relative_error(after[name].double().numpy(), wanted.numpy()) < 1e-6
        changed.add(name)
    assert len(changed) > 3
    assert all(torch.equal(before[name], after[name]) for name in before.keys() - changed)


@pytest.mark.parametrize(
    "settings",
    [
        {"use_rslora": True},
        {"use_dora": True},
        {"rank_pattern": {"h.1.attn.c_attn": 2}, "alpha_pattern": {"c_fc": 11}},
        {"layers_to_transform": [0, 2]},
        {"modules_to_save": ["ln_f"]},
        {"target_modules": "all-linear"},
        {"target_modules": r".*h\.[01]\..*c_proj"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_of_lora_are_those_of_peft(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    monkeypatch.setitem(TARGETS, "gpt2", settings.pop("target_modules", TARGETS["gpt2"]))
    adapted = save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2", **settings)
    assert relative_error(features(str(tmp_path / "adapter")), by_hand(adapted, tiny("gpt2"), last=True)) < RELATIVE


def test_an_adapter_of_zeros_gives_the_features_of_the_base(tiny: Tiny, tmp_path: Path) -> None:
    save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2", zero=True)
    assert np.array_equal(features(str(tmp_path / "adapter")), features(tiny("gpt2")))


def test_the_packed_pass_reads_the_merged_weights(tiny: Tiny, tmp_path: Path) -> None:
    save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2")
    loaded = load_model(str(tmp_path / "adapter"), device="cpu")
    assert type(loaded.model).__name__ == "GPT2Model"
    assert not [name for name, _ in loaded.model.named_parameters() if "lora" in name]
    assert not hasattr(loaded.model, "peft_config")


def test_no_features_of_the_base_or_another_adapter_are_taken_for_its_own(tiny: Tiny, tmp_path: Path) -> None:
    base = tiny("gpt2")
    for name in ("one", "other"):
        save_adapter(base, tmp_path / name, kind="gpt2")
    copy = shutil.copytree(tmp_path / "one", tmp_path / "copy")
    names = [base, str(tmp_path / "one"), str(tmp_path / "other")]
    digests = [identify(name).digest for name in names]
    assert len({*digests}) == 3
    assert len({feature_key(TEXTS, EncoderConfig(name)) for name in names}) == 3
    assert identify(str(copy)).digest == digests[1]
    change_settings(copy, lora_alpha=12)
    assert identify(str(copy)).digest not in digests
    assert identify(names[1]).base.digest == digests[0]


def test_the_base_is_part_of_the_identity(tiny: Tiny, tmp_path: Path) -> None:
    other = str(make_gpt2(tmp_path / "base", seed=9))
    save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2")
    adapter = str(tmp_path / "adapter")
    named = f"{other}+{adapter}"
    assert identify(named).digest != identify(adapter).digest
    assert identify(named).name == named
    assert identify(f"{tiny('gpt2')}+{adapter}").digest == identify(adapter).digest
    model = AutoModelForCausalLM.from_pretrained(other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapted = peft.PeftModel.from_pretrained(model, adapter)
    assert relative_error(features(named), by_hand(adapted, other, last=True)) < RELATIVE
    assert names_files(named)


def test_a_model_with_an_adapter_writes(tiny: Tiny, tmp_path: Path) -> None:
    adapted = save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2", bare=True)
    head = AutoModelForCausalLM.from_pretrained(tiny("gpt2")).eval()
    head.transformer = adapted.base_model.model
    loaded = load_model(str(tmp_path / "adapter"), device="cpu", with_head=True)
    tokens = loaded.tokenizer(TEXTS[0], return_tensors="pt")
    with torch.no_grad():
        assert relative_error(loaded.model(**tokens).logits[0].numpy(), head(**tokens).logits[0].numpy()) < RELATIVE


def test_continuations_of_an_adapter_are_its_own(tiny: Tiny, tmp_path: Path) -> None:
    adapted = save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2")
    merged = adapted.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    AutoTokenizer.from_pretrained(tiny("gpt2")).save_pretrained(tmp_path / "merged")
    written = [written_by(str(name)) for name in (tmp_path / "adapter", tmp_path / "merged", tiny("gpt2"))]
    assert written[0] == written[1] != written[2]


def written_by(name: str) -> list[str]:
    """Greedy continuations of two prompts."""
    loaded = load_model(name, device="cpu", with_head=True)
    prompts = Prompts(ids=("a", "b"), texts=("The quick", "In 1969"))
    settings = GenerationSettings(max_new_tokens=8)
    return continue_prompts(loaded, prompts, parse_decoder("greedy"), settings)


def test_a_weight_with_two_uses_is_changed_in_none(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-2 reads and writes with one matrix; PEFT changes one use of it, so features are known and logits refused."""
    for targets in (["wte"], ["lm_head"]):
        monkeypatch.setitem(TARGETS, "gpt2", targets)
        name = str(tmp_path / targets[0])
        adapted = save_adapter(tiny("gpt2"), tmp_path / targets[0], kind="gpt2")
        assert relative_error(features(name), by_hand(adapted, tiny("gpt2"), last=True)) < RELATIVE
        with pytest.raises(ModelUnavailableError, match="uses both to read and to write"):
            load_model(name, device="cpu", with_head=True)


def change_settings(folder: Path, **values: Any) -> None:
    settings = json.loads((folder / ADAPTER_CONFIG).read_text())
    (folder / ADAPTER_CONFIG).write_text(json.dumps({**settings, **values}))


@pytest.fixture
def adapter(tiny: Tiny, tmp_path: Path) -> Path:
    """An adapter to be spoilt."""
    save_adapter(tiny("gpt2"), tmp_path / "adapter", kind="gpt2")
    return tmp_path / "adapter"


def refused(adapter: Path | str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        features(str(adapter))


def test_an_adapter_without_its_base_is_refused_with_the_way_out(adapter: Path, tmp_path: Path) -> None:
    change_settings(adapter, base_model_name_or_path=str(tmp_path / "gone"))
    refused(adapter, r"The base model of the adapter \S+ cannot be used: .*Name a base that this machine has: BASE\+")
    change_settings(adapter, base_model_name_or_path=None)
    refused(adapter, r"names no base model\. Name it: BASE\+")
    change_settings(adapter, base_model_name_or_path="openai:http://127.0.0.1:9/v1#model")
    refused(adapter, "is no model with weights of its own")
    change_settings(adapter, base_model_name_or_path=str(adapter))
    for name in (adapter, f"{adapter}+{adapter}"):
        refused(name, "is no model with weights of its own")
    refused(f"{PIXELS}+{adapter}", "is no model with weights of its own")


def test_an_adapter_of_another_model_is_refused(adapter: Path, tiny: Tiny, tmp_path: Path) -> None:
    refused(f"{tiny('llama')}+{adapter}", r"does not fit its base model: it changes \S+, which the base does not have")
    wider = make_gpt2(tmp_path / "wider", width=64)
    refused(f"{wider}+{adapter}", r"does not fit its base model: \S+ has the shape")
    shallow = make_gpt2(tmp_path / "shallow", layers=1)
    refused(f"{shallow}+{adapter}", r"does not fit its base model: it changes \S*h\.[12]")


def test_a_pickle_is_not_read(adapter: Path) -> None:
    tensors = load_file(adapter / ADAPTER_WEIGHTS)
    torch.save(tensors, adapter / "adapter_model.bin")
    (adapter / ADAPTER_WEIGHTS).unlink()
    refused(adapter, r"lacks its weights \(adapter_model.safetensors\).*a pickle \(adapter_model.bin\) is not read")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"peft_type": "IA3"}, "peft_type is 'IA3'"),
        ({"peft_type": None}, "peft_type is None"),
        ({"base_model_name_or_path": 7}, "base_model_name_or_path is 7"),
        ({"layer_replication": [[0, 2]]}, "layer_replication"),
        ({"megatron_config": {"a": 1}, "megatron_core": "os"}, "megatron_config"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights = 'pissa'"),
        ({"unheard_of": 1}, "unheard_of = 1"),
        ({"r": 8}, "has rank 4, but adapter_config.json says 8"),
        ({"rank_pattern": [1]}, "rank_pattern"),
        ({"lora_alpha": "x"}, "it has the scale 'x'"),
        ({"alpha_pattern": {"c_attn": True}}, "it has the scale True"),
        ({"alpha_pattern": [1]}, "alpha_pattern is"),
        ({"alpha_pattern": {"((": 1}}, "The pattern cannot be used"),
        ({"alpha_pattern": {f"a{i}": 1 for i in range(200_000)}}, "takes too long to match"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_followed_are_refused(
    adapter: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(adapters, "_MATCHING_S", 0.2)
    change_settings(adapter, **values)
    refused(adapter, words)


def test_tensors_that_are_damaged_or_missing_are_refused(adapter: Path) -> None:
    tensors = load_file(adapter / ADAPTER_WEIGHTS)
    gone = next(name for name in tensors if "lora_B" in name)
    save_file({name: tensor for name, tensor in tensors.items() if name != gone}, adapter / ADAPTER_WEIGHTS)
    refused(adapter, r"does not fit its base model: it lacks \S+lora_B")
    save_file({**tensors, gone: tensors[gone] * float("nan")}, adapter / ADAPTER_WEIGHTS)
    refused(adapter, "cannot be loaded")
    save_file({"a": tensors[gone]}, adapter / ADAPTER_WEIGHTS)
    refused(adapter, "it holds no LoRA tensors")
    (adapter / ADAPTER_WEIGHTS).write_bytes(b"garbage")
    refused(adapter, "is not a safetensors file")


def test_numbers_that_would_be_rounded_are_refused(adapter: Path) -> None:
    tensors = load_file(adapter / ADAPTER_WEIGHTS)
    for kind in (torch.int8, torch.complex64):
        save_file({name: tensor.to(kind) for name, tensor in tensors.items()}, adapter / ADAPTER_WEIGHTS)
        refused(adapter, f"holds numbers of type {kind}. Allowed: weights in floating point")


def test_a_rank_takes_no_memory_that_the_file_does_not_hold(adapter: Path) -> None:
    """A tensor of 10^9 rows without a number in them would make a matrix of 128 GB."""
    name = "base_model.model.transformer.h.0.attn.c_attn.lora_{}.weight"
    save_file(
        {name.format("A"): torch.zeros(10**9, 0), name.format("B"): torch.zeros(0, 10**9)}, adapter / ADAPTER_WEIGHTS
    )
    change_settings(adapter, r=10**9)
    refused(adapter, r"does not fit its base model: \S+ has the shape \(.*1000000000")


def test_a_header_beyond_any_models_is_not_read(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = load_file(adapter / ADAPTER_WEIGHTS)
    save_file(tensors, adapter / ADAPTER_WEIGHTS, {"more": "x" * 10_000})
    monkeypatch.setattr(model_files, "MOST_JSON_BYTES", 10_000)
    refused(
        adapter, r"adapter_model\.safetensors cannot be used: its header has [\d,]+ bytes\. Allowed: at most 10,000"
    )


def in_cache(folder: Path, cache: Path, name: str, commit: str = "c" * 40) -> None:
    """Put a folder into the hub's cache, as a download does."""
    place = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, place / "snapshots" / commit)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_adapter_of_the_hub_is_read_from_its_cache(adapter: Path, tiny: Tiny, cache: Path) -> None:
    in_cache(adapter, cache, "someone/adapter")
    in_cache(Path(tiny("gpt2")), cache, "someone/base")
    change_settings(
        cache / "models--someone--adapter" / "snapshots" / ("c" * 40), base_model_name_or_path="someone/base"
    )
    expected = features(str(adapter))
    assert np.array_equal(features("someone/adapter"), expected)
    assert np.array_equal(features(f"{tiny('gpt2')}+someone/adapter"), expected)
    assert identify("someone/adapter").digest != identify("someone/base").digest
    assert not must_be_fetched("someone/adapter")
    assert must_be_fetched("someone/missing+someone/adapter")


def test_a_check_does_not_ask_the_hub_about_the_base(
    adapter: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_settings(adapter, base_model_name_or_path="someone/not-here")
    assert must_be_fetched(str(adapter))
    monkeypatch.setattr(hub, "is_offline", lambda: False)
    monkeypatch.setattr(hub, "commit_of", lambda *_: pytest.fail("the hub is asked"))
    check_model(str(adapter))
    with pytest.raises(ModelUnavailableError, match="adapter"):
        check_model(f"someone/base+{adapter}/gone/a")
