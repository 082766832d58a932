"""What transformers before 5 leaves to this program, here also with a newer one that is taken for such a version."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import Encoder, encode
from tests.encoders.test_encode import RELATIVE, relative_error

Tiny = Callable[[str], str]
TEXTS = ("Rain fell on the roofs of the old town.", "She asked.")


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mauve_core.encoders.older_transformers.is_older", lambda: True)


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


@pytest.mark.usefixtures("older")
def test_a_model_wider_than_its_weights_is_refused_before_it_takes_memory(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = changed(tiny("gpt2"), tmp_path / "wide", n_embd=10**6, n_head=1)
    monkeypatch.setattr("transformers.modeling_utils.PreTrainedModel.from_pretrained", None)
    with pytest.raises(InputError, match="more parameters than its weights hold"):
        encode(TEXTS, EncoderConfig(str(folder)), device="cpu")


@pytest.mark.parametrize("values", [{"scale_attn_by_inverse_layer_idx": True}, {"scale_attn_weights": False}])
def test_scales_of_gpt2_are_heeded_with_and_without_padding(tiny: Tiny, tmp_path: Path, values: dict[str, Any]) -> None:
    config = EncoderConfig(str(changed(tiny("gpt2"), tmp_path / "scaled", **values)))
    packed, padded = (Encoder(config, device="cpu", packed=way).encode(TEXTS).array for way in (True, False))
    assert relative_error(packed, padded) < RELATIVE
    assert relative_error(packed, encode(TEXTS, EncoderConfig(tiny("gpt2")), device="cpu").array) > 0.01


def test_features_are_the_same_bits_however_the_model_was_built(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [encode(TEXTS, EncoderConfig(tiny(name)), device="cpu").array for name in ("gpt2", "bert")]
    monkeypatch.setattr("mauve_core.encoders.older_transformers.is_older", lambda: True)
    torch.manual_seed(3)
    found = [encode(TEXTS, EncoderConfig(tiny(name)), device="cpu").array for name in ("gpt2", "bert")]
    for one, other in zip(found, usual, strict=True):
        np.testing.assert_array_equal(one, other)
