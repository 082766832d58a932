"""Whatever a library raises becomes an error of ours that names what was read; a table of the calls."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import sys
import types
import zlib
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from PIL import Image
from safetensors.numpy import save_file

from mauve_core import molecules as molecules
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, MauveLensError, library_errors
from mauve_core.base.files import read_toml
from mauve_core.base.patterns import compiled_pattern
from mauve_core.clusters.projection import project
from mauve_core.decoding import engines
from mauve_core.encoders import encode, hub, pooling, servers
from mauve_core.encoders.external_features import open_features
from mauve_core.encoders.loading import load_config, load_tokenizer_files, load_weights, reading_weights
from mauve_core.encoders.model_files import check_weights, read_pickle, tensor_shapes, whole_number_tensors
from mauve_core.encoders.tokenizing import read_texts
from mauve_core.reporting import tracked_runs
from mauve_core.texts import data_sets, media, read_corpus
from mauve_core.texts.corpus import StoredCorpus, load_parquet, write_parquet
from tests.tiny_models import make_gpt2

# As pyo3 raises it for a panic in Rust, which is no ``Exception``.
PanicException = type("PanicException", (BaseException,), {})

RAISED = (
    RuntimeError("odd"),
    KeyError("odd"),
    AssertionError(),
    zlib.error("odd"),
    UnicodeError("label too long"),
    http.client.IncompleteRead(b""),
    http.client.BadStatusLine("odd"),
    ssl.SSLError("odd"),
    RecursionError("odd"),
    pa.ArrowNotImplementedError("odd"),
    PanicException("odd"),
)


class Call:
    """A call of a library: where it is replaced, what calls it, and what the message names."""

    def __init__(self, target: str, do: Callable[[Path], object], names: str) -> None:
        self.target, self.do, self.names = target, do, names


def table(folder: Path) -> Path:
    pd.DataFrame({"text": ["a b", "c d"], "vector": [[1.0, 2.0], [3.0, 4.0]]}).to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def stored(folder: Path) -> Path:
    path = folder / "texts.parquet"
    write_parquet(path, StoredCorpus({}, ("1",), ("a",), None, pd.DataFrame(index=[0])))
    return path


def tensors(folder: Path) -> Path:
    save_file({"a": np.ones((2, 3), np.float32)}, folder / "a.safetensors")
    return folder / "a.safetensors"


def pickled(folder: Path) -> Path:
    torch.save({"a": torch.ones(2)}, folder / "a.bin")
    return folder / "a.bin"


def picture(folder: Path) -> Path:
    (folder / "images").mkdir(exist_ok=True)
    Image.new("RGB", (8, 8)).save(folder / "images" / "a.png")
    return folder / "images"


def settings(folder: Path) -> Path:
    (folder / "a.toml").write_text("a = 1\n")
    return folder / "a.toml"


def model(folder: Path) -> Path:
    path = folder / "gpt2"
    return path if path.exists() else make_gpt2(path)


def weights(folder: Path) -> object:
    path = model(folder)
    return load_weights(path, "tiny", load_config(path, "tiny"), torch.float32, with_head=False)


def within(context: contextlib.AbstractContextManager[None]) -> None:
    with context:
        FAILING()


def served(_: Path) -> None:
    encode(["A text."], EncoderConfig("openai:http://127.0.0.1:9/v1#tiny"))


FAILING: Callable[..., object] = str
HERE = f"{__name__}.FAILING"
RUN: Any = SimpleNamespace(key="k", name="n", settings={})

CALLS = {
    "a table": Call("pyarrow.parquet.ParquetFile", lambda f: read_corpus(table(f)), "a.parquet"),
    "stored texts": Call("pyarrow.parquet.ParquetFile", lambda f: load_parquet(stored(f)), "texts.parquet"),
    "features in a table": Call("pyarrow.parquet.read_schema", lambda f: open_features(table(f)), "a.parquet"),
    "features as tensors": Call("safetensors.safe_open", lambda f: open_features(tensors(f)), "a.safetensors"),
    "shapes of tensors": Call("safetensors.safe_open", lambda f: tensor_shapes(tensors(f)), "a.safetensors"),
    "types of tensors": Call("safetensors.safe_open", lambda f: whole_number_tensors(tensors(f)), "a.safetensors"),
    "a module's tensors": Call(
        "safetensors.torch.load_file", lambda f: pooling._weights(tensors(f), "cpu"), "a.safetensors"
    ),
    "a pickle": Call("torch.load", lambda f: read_pickle(pickled(f), "cpu"), "a.bin"),
    "a pickle's archive": Call(
        "mauve_core.encoders.model_files.open_zip", lambda f: check_weights(pickled(f)), "a.bin"
    ),
    "a packaged model": Call(HERE, lambda f: within(reading_weights("a.pt")), "a.pt"),
    "a configuration": Call(
        "transformers.AutoConfig.from_pretrained", lambda f: load_config(model(f), "tiny"), "config.json"
    ),
    "a tokenizer": Call(
        "transformers.AutoTokenizer.from_pretrained", lambda f: load_tokenizer_files(model(f), "tiny"), "gpt2"
    ),
    "a model": Call("transformers.AutoModel.from_pretrained", weights, "gpt2"),
    "tokens": Call(HERE, lambda f: read_texts(Tokenizer(), ["a"]), "tiny"),
    "vLLM": Call(HERE, lambda f: within(engines._naming("The model tiny fails")), "The model tiny fails"),
    "the hub": Call("huggingface_hub.hf_hub_download", lambda f: hub.commit_of("someone/tiny", None), "someone/tiny"),
    "a data set": Call(HERE, lambda f: within(data_sets.refusals("hf:a/b")), "hf:a/b"),
    "an image": Call("PIL.Image.open", lambda f: read_corpus(picture(f)), "images"),
    "a thumbnail": Call("PIL.Image.open", lambda f: media._require_webp(b"", 9, "9/a.webp"), "9/a.webp"),
    "a molecule": Call("rdkit.Chem.MolFromSmiles", lambda f: read_corpus(smiles(f)), "a.smi"),
    "a pattern": Call("regex.compile", lambda f: compiled_pattern("a+"), "a+"),
    "settings": Call("tomllib.loads", lambda f: read_toml(settings(f)), "a.toml"),
    "the map": Call(
        "mauve_core.clusters.projection.reducer_of",
        lambda f: project(np.eye(40), seed=1),
        "UMAP",
    ),
    "a server": Call("httpx2.AsyncClient.stream", served, "http://127.0.0.1:9/v1"),
    "W&B": Call("wandb.init", lambda f: tracked_runs._begin(pytest.importorskip("wandb"), RUN, "p"), "W&B"),
    "MLflow": Call("mlflow.MlflowClient", lambda f: tracked_runs.log_to_mlflow(RUN, None), "MLflow"),
}


class Tokenizer:
    name_or_path = "tiny"

    def __call__(self, *_: object, **__: object) -> object:
        return FAILING()


def smiles(folder: Path) -> Path:
    (folder / "a.smi").write_text("C\n[#119]\n")
    return folder / "a.smi"


@pytest.fixture
def rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of RDKit that are called before a molecule is read, whether it is installed or not."""
    names = ("rdkit", "rdkit.rdBase", "rdkit.Chem")
    made = {name: types.ModuleType(name) for name in names}
    made["rdkit"].__spec__ = ModuleSpec("rdkit", None)
    vars(made["rdkit"]).update(rdBase=made["rdkit.rdBase"], Chem=made["rdkit.Chem"])
    vars(made["rdkit.rdBase"]).update(BlockLogs=contextlib.nullcontext)
    vars(made["rdkit.Chem"]).update(MolFromSmiles=str)
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize("name", CALLS)
def test_what_a_library_raises_becomes_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdkit: None
) -> None:
    call = CALLS[name]
    for package in ("wandb", "mlflow", "datasets"):
        if call.target.startswith(package) or (name == "a data set" and package == "datasets"):
            pytest.importorskip(package)
    monkeypatch.setattr(hub, "is_offline", lambda: False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(servers, "ATTEMPTS", 1)
    monkeypatch.setattr(servers, "_never", False)  # a page that another test opened has set it
    model(tmp_path)

    def failing(error: BaseException) -> Callable[..., NoReturn]:
        def fails(*_: object, **__: object) -> NoReturn:
            raise error

        return fails

    for error in (each for each in RAISED if isinstance(each, Exception) or name != "an image"):  # Pillow has no Rust
        monkeypatch.setattr(call.target, failing(error))
        with pytest.raises(MauveLensError) as caught:
            call.do(tmp_path)
        assert call.names in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("passing", [InputError("ours"), MemoryError(), KeyboardInterrupt(), GeneratorExit()])
def test_ours_a_lack_of_memory_and_an_interruption_pass(passing: BaseException) -> None:
    with pytest.raises(type(passing)) as caught, library_errors(lambda _: InputError("a library")):
        raise passing
    assert caught.value is passing


def test_a_molecule_at_which_rdkit_fails_is_left_out_and_counted(
    rdkit: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = ("C", "0" * 64, dict.fromkeys(molecules.PROPERTIES, 0.0) | {molecules.GROUPS: ""}, ())

    def described_or_not(written: str, drawn: object) -> object:
        if written == "[#119]":
            raise RuntimeError("Pre-condition Violation")
        return described

    monkeypatch.setattr(molecules, "_described", described_or_not)
    corpus = read_corpus(smiles(tmp_path))
    assert corpus.texts == ("C",)
    (left_out,) = corpus.exclusions
    assert (left_out.reason, left_out.examples) == (molecules.FAILED, ("line 2: '[#119]'",))
