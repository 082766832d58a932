"""What transformers before 5 leaves to this program, here also with a newer one that is taken for such a version."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import Encoder, encode
from mauve_core.encoders.loading import attend_with_own_scales, check_settings, correct_special_tokens, is_older
from mauve_core.encoders.models import load_model
from tests.encoders.test_encode import RELATIVE, relative_error

Tiny = Callable[[str], str]
TEXTS = ("Rain fell on the roofs of the old town.", "She asked.")


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mauve_core.encoders.loading.is_older", lambda: True)


def changed(folder: str, out: Path, **values: Any) -> Path:
    """A copy with other values in its configuration."""
    path = Path(shutil.copytree(folder, out)) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return out


@pytest.mark.usefixtures("older")
def test_rotary_settings_that_would_be_left_out_are_refused(tiny: Tiny, tmp_path: Path) -> None:
    folder = changed(tiny("llama"), tmp_path / "newer", rope_parameters={"rope_type": "default", "rope_theta": 1e5})
    with pytest.raises(ModelUnavailableError, match=r"config\.json have rope_parameters.*transformers>=5"):
        encode(TEXTS, EncoderConfig(str(folder)), device="cpu")


@pytest.mark.skipif(is_older(), reason="such a version does not heed them")
def test_a_newer_version_heeds_these_settings(tiny: Tiny, tmp_path: Path) -> None:
    rotary = {"rope_type": "default", "rope_theta": 10.0}
    folder = changed(tiny("llama"), tmp_path / "newer", rope_parameters=rotary)
    found, usual = (encode(TEXTS, EncoderConfig(name), device="cpu").array for name in (str(folder), tiny("llama")))
    assert relative_error(found, usual) > 0.01


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize(("name", "value"), [("n_layer", "x"), ("layer_norm_epsilon", "1e-5")])
def test_a_word_in_place_of_a_number_is_refused(tiny: Tiny, name: str, value: str) -> None:
    config = AutoConfig.from_pretrained(tiny("gpt2"))
    with pytest.raises(ModelUnavailableError, match=rf"g/config\.json .*{name} is '{value}'.*a number, such as"):
        check_settings({name: value}, config, Path("g/config.json"))
    check_settings({name: 3, "activation_function": "relu", "use_cache": "x"}, config, Path("g/config.json"))


@pytest.mark.usefixtures("older")
def test_a_model_wider_than_its_weights_is_refused_before_it_takes_memory(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = changed(tiny("gpt2"), tmp_path / "wide", n_embd=10**6, n_head=1)
    monkeypatch.setattr("transformers.modeling_utils.PreTrainedModel.from_pretrained", None)
    with pytest.raises(InputError, match="more parameters than its weights hold"):
        encode(TEXTS, EncoderConfig(str(folder)), device="cpu")


@pytest.mark.usefixtures("older")
def test_special_tokens_are_those_that_the_file_names(tiny: Tiny) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny("llama"))
    bare = tokenizer("She asked.", add_special_tokens=False)["input_ids"]
    tokenizer.eos_token = tokenizer.pad_token = "<s>"
    tokenizer.add_bos_token = True
    correct_special_tokens(
        tokenizer, SimpleNamespace(bos_token_id=0, eos_token_id=1, pad_token_id=1, unk_token_id=None)
    )
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token) == ("<s>", "</s>", "</s>")
    assert not tokenizer.add_bos_token
    assert tokenizer.decode([*bare, 1], skip_special_tokens=True) == "She asked."


@pytest.mark.parametrize("values", [{"scale_attn_by_inverse_layer_idx": True}, {"scale_attn_weights": False}])
def test_scales_of_gpt2_are_heeded_with_and_without_padding(tiny: Tiny, tmp_path: Path, values: dict[str, Any]) -> None:
    config = EncoderConfig(str(changed(tiny("gpt2"), tmp_path / "scaled", **values)))
    packed, padded = (Encoder(config, device="cpu", packed=way).encode(TEXTS).array for way in (True, False))
    assert relative_error(packed, padded) < RELATIVE
    assert relative_error(packed, encode(TEXTS, EncoderConfig(tiny("gpt2")), device="cpu").array) > 0.01


@pytest.mark.parametrize("knows", [True, False])
def test_only_a_fused_attention_without_these_scales_is_replaced(
    tiny: Tiny, tmp_path: Path, knows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load_model(tiny("gpt2"), device="cpu").model
    folder = changed(tiny("gpt2"), tmp_path / "scaled", scale_attn_by_inverse_layer_idx=True)
    scaled = AutoModel.from_pretrained(folder, attn_implementation="sdpa")
    for model in (plain, scaled):
        for layer in model.h:
            layer.attn.__dict__.pop("scaling", None)
            if knows:
                layer.attn.scaling = 1.0
        attend_with_own_scales(model)
    assert plain.config._attn_implementation == "sdpa"
    assert scaled.config._attn_implementation == ("sdpa" if knows else "eager")


@pytest.mark.slow
def test_features_are_the_same_bits_however_the_model_was_built(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [encode(TEXTS, EncoderConfig(tiny(name)), device="cpu").array for name in ("gpt2", "bert")]
    monkeypatch.setattr("mauve_core.encoders.loading.is_older", lambda: True)
    torch.manual_seed(3)
    found = [encode(TEXTS, EncoderConfig(tiny(name)), device="cpu").array for name in ("gpt2", "bert")]
    for one, other in zip(found, usual, strict=True):
        np.testing.assert_array_equal(one, other)
