from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode, feature_key
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.encoders.features import FeatureStore
from tests.tiny_models import make_gpt2

Tiny = Callable[[str], str]
TEXTS = ("First text.", "Second text.")


def test_everything_that_decides_the_numbers_changes_the_key(tiny: Tiny, tmp_path: Path) -> None:
    config = EncoderConfig(tiny("gpt2"))
    make_gpt2(tmp_path / "other", seed=1)
    keys = [
        feature_key(TEXTS, config),
        feature_key(TEXTS[::-1], config),
        feature_key(TEXTS[:1], config),
        feature_key((*TEXTS, TEXTS[0]), config),
        feature_key(("First text.Second", " text."), config),
        feature_key(TEXTS, replace(config, model=tiny("llama"))),
        feature_key(TEXTS, replace(config, model=str(tmp_path / "other"))),
        feature_key(TEXTS, replace(config, pooling="last")),
        feature_key(TEXTS, replace(config, pooling="mean")),
        feature_key(TEXTS, replace(config, layer=2)),
        feature_key(TEXTS, replace(config, max_tokens=20)),
        feature_key(TEXTS, replace(config, dtype="bfloat16")),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys)


def test_nothing_else_changes_the_key(tiny: Tiny, tmp_path: Path) -> None:
    config = EncoderConfig(tiny("gpt2"))
    key = feature_key(TEXTS, config)
    assert feature_key(list(TEXTS), config) == key
    assert feature_key(TEXTS, replace(config, with_prompt=True)) == key
    copy = shutil.copytree(tiny("gpt2"), tmp_path / "copy")
    assert feature_key(TEXTS, replace(config, model=str(copy))) == key
    assert encode(TEXTS, config, device="cpu").key == key


@pytest.mark.skipif(PACKAGED["minilm"].locate() is None, reason="the minilm package is not installed")
def test_a_folder_and_the_package_mean_the_same_by_auto() -> None:
    folder = EncoderConfig(str(PACKAGED["minilm"].locate()))
    packaged = EncoderConfig("minilm")
    assert feature_key(TEXTS, folder) == feature_key(TEXTS, packaged)
    mean = feature_key(TEXTS, replace(packaged, pooling="mean"))
    assert mean == feature_key(TEXTS, replace(folder, pooling="mean"))
    assert mean != feature_key(TEXTS, packaged)  # which has unit length, too


@pytest.mark.slow
def test_a_cached_encode_loads_no_torch(tiny: Tiny, tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import available_models, encode, feature_key
from mauve_core.encoders.features import FeatureStore
config, store = EncoderConfig(sys.argv[1]), FeatureStore(Path(sys.argv[2]))
feature_key(["A text."], config)
available_models()
loaded = {"torch", "transformers"} & set(sys.modules)
encode(["A text."], config, store=store, device="cpu")
print(sorted(loaded), "torch" in sys.modules)
"""
    encode(["A text."], EncoderConfig(tiny("gpt2")), store=FeatureStore(tmp_path / "features"), device="cpu")
    command = [sys.executable, "-c", script, tiny("gpt2"), str(tmp_path / "features")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[] False"
