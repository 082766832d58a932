"""A tokenizer is loaded without its model's weights, from a folder or a GGUF file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.errors import ModelUnavailableError
from mauve_core.base.files import home
from mauve_core.encoders import models
from mauve_core.encoders.models import load_model, load_tokenizer
from tests.encoders.test_sentence_modules import Tiny
from tests.encoders.tiny_gguf import write_gguf
from tests.tiny_models import SENTENCES

pytestmark = pytest.mark.integration

WEIGHTS = "model.safetensors"


def ids(tokenizer: Any) -> Any:
    return tokenizer(list(SENTENCES), add_special_tokens=False)["input_ids"]


@pytest.fixture
def bare(tiny: Tiny, tmp_path: Path) -> Path:
    """A folder of all but the weights."""
    folder = Path(shutil.copytree(tiny("llama"), tmp_path / "bare"))
    (folder / WEIGHTS).unlink()
    return folder


@pytest.fixture
def whole(tiny: Tiny) -> Any:
    """The tokenizer as the model that is loaded whole has it."""
    return load_model(tiny("llama"), device="cpu").tokenizer


@pytest.mark.parametrize("removed", [(), ("config.json", "generation_config.json")])
def test_a_folder_needs_no_weights_and_no_configuration(bare: Path, whole: Any, removed: tuple[str, ...]) -> None:
    for name in removed:
        (bare / name).unlink()
    assert ids(load_tokenizer(str(bare))) == ids(whole)
    with pytest.raises(ModelUnavailableError, match="holds no model"):
        load_model(str(bare), device="cpu")


def test_of_a_gguf_file_only_the_tokenizer_is_converted_and_kept(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_gguf(Path(tiny("llama")), tmp_path / "tiny.gguf")
    alone = ids(load_tokenizer(str(path)))
    (kept,) = (home() / "models").iterdir()
    assert not list(kept.glob("*.safetensors"))
    with monkeypatch.context() as without:
        without.setattr("mauve_core.encoders.gguf_files._convert_tokenizer", None)
        assert ids(load_tokenizer(str(path))) == alone
    assert ids(load_model(str(path), device="cpu").tokenizer) == alone
    shutil.rmtree(kept)
    monkeypatch.setattr(models, "load_weights", None)
    assert ids(load_tokenizer(str(path))) == alone, "the checkpoint, now that there is one, has the tokenizer, too"
    assert not kept.exists()
