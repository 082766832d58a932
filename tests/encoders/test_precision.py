"""Precisions: their keys, what "auto" becomes, and TF32 that holds for our own passes alone."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, Precision, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters import devices
from mauve_core.clusters.devices import matrix_products
from mauve_core.encoders import Encoder, encode, feature_key
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.devices import ERRORS, MAUVE_CHANGES, choose_precision, cost_of
from mauve_core.encoders.encoder import key_of
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.models import load_model
from mauve_core.scoring.compare import compare
from tests.encoders.cuda_stand_in import stand_in
from tests.synthetic import make_comparison_inputs

Tiny = Callable[[str], str]
RESULTS = Path(__file__).parents[2] / "benchmarks/results/device.md"
TEXTS = ("First text.", "Second text.")
# Keys of TEXTS; features are stored under such keys, so these never change.
KEYS = {
    "float32": "974a708a750216df1687e1af9820d72d6205d3a85167249402f210f2363ecfb9",
    "tf32": "555979969f07f67da4a67aad43574e2a3b41bf8875ee4013deb79bc9d4ecdace",
    "bfloat16": "6825613522abe9ba61adbc464a127df5c44053395b9e924b9101ebd3f8eb188a",
    "float16": "63ec5810e6fc6058f8a1e876d7754ebd8ed989729e482fd3cd149093a56c2b35",
}


class _Old:
    """torch.backends.cuda.matmul before torch 2.9."""

    __slots__ = ("allow_tf32",)

    def __init__(self) -> None:
        self.allow_tf32 = False


class _New:
    """The same from 2.9 on, where using the old setting too is an error."""

    __slots__ = ("fp32_precision",)

    def __init__(self, precision: str = "none") -> None:
        self.fp32_precision = precision


@pytest.fixture(params=[_Old, _New, None])
def setting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """torch's settings of products and convolutions, in both of their forms and as in this torch."""
    if request.param is not None:
        monkeypatch.setattr(torch.backends.cuda, "matmul", request.param())
        if request.param is _New:  # older versions of torch do not have it
            monkeypatch.setattr(torch.backends.cudnn, "conv", _New("tf32"), raising=False)
    words = {True: "tf32", False: "ieee"}

    def differing() -> str:
        return " ".join(dict.fromkeys(words.get(each, each) for each in devices._settings()))

    return differing


def test_every_precision_has_its_key(tiny: Tiny) -> None:
    identity = ModelIdentity(name="model", kind="folder", location="/nowhere", digest="0" * 64)
    found = {dtype: key_of(TEXTS, EncoderConfig("model", pooling="last", dtype=dtype), identity) for dtype in KEYS}  # type: ignore[arg-type]
    assert found == KEYS
    assert set(KEYS) == set(get_args(Precision))
    with pytest.raises(InputError, match="precision has not been chosen"):
        feature_key(TEXTS, EncoderConfig(tiny("gpt2"), dtype="auto"))


@pytest.mark.parametrize(
    ("device", "capability", "expected"),
    [
        ("cpu", (9, 0), "float32"),
        ("cuda", (9, 0), "bfloat16"),
        ("cuda", (8, 0), "bfloat16"),
        ("cuda", (7, 5), "float32"),
        ("cuda:0,cpu", (9, 0), "float32"),
        ("auto", (8, 9), "bfloat16"),
    ],
)
def test_auto_becomes_what_the_device_has(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, device: str, capability: tuple[int, int], expected: str
) -> None:
    stand_in(monkeypatch, capability)
    named, auto = EncoderConfig(tiny("gpt2"), dtype=expected), EncoderConfig(tiny("gpt2"), dtype="auto")  # type: ignore[arg-type]
    chosen = choose_precision(auto, device)
    assert chosen.config == named
    assert f"auto chose {expected}" in chosen.note
    assert chosen.note.endswith(cost_of(named.dtype))
    assert choose_precision(named, device).note == ""


def test_features_of_auto_are_those_of_the_precision(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    store, named = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2"))
    found = encode(texts, EncoderConfig(tiny("gpt2"), dtype="auto"), device="cpu", store=store)
    assert found.key == feature_key(texts, named)
    assert any("auto chose float32 for cpu" in note for note in found.notes)
    again = encode(texts, named, device="cpu", store=store)
    np.testing.assert_array_equal(again.array, found.array)
    assert again.notes == (), "the note belongs to who asked for auto"


@pytest.mark.parametrize(("capability", "expected"), [((9, 0), "bfloat16"), ((7, 5), "float32")])
def test_a_comparison_keeps_what_auto_became(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], expected: str
) -> None:
    stand_in(monkeypatch, capability)
    human, sides, _ = make_comparison_inputs(40)
    config = CompareConfig(
        encoder=EncoderConfig(tiny("gpt2"), dtype="auto", max_tokens=8),
        score=ScoreConfig(seeds=2, bootstrap=100, k=4),
        projection=False,
    )
    monkeypatch.setattr("mauve_core.scoring.compare.array_device", lambda requested: "cpu")
    found = compare(human, {"close": sides["close"]}, config, device="cuda", progress="none")
    assert found.config.encoder is not None
    assert found.config.encoder.dtype == expected
    assert found.sources[0].name == HUMAN
    assert (cost_of("bfloat16") in found.warnings) == (expected == "bfloat16")
    features = {name: np.zeros((40, 2)) for name in (HUMAN, "close")}
    with pytest.raises(InputError, match="precision has not been chosen"):
        compare(
            human,
            {"close": sides["close"]},
            config,
            features=features,
            known={source.name: source for source in found.sources},
            progress="none",
        )


@pytest.mark.parametrize(("device", "capability"), [("cpu", (9, 0)), ("cuda", (7, 5)), ("cuda:1,cpu", (9, 0))])
def test_tf32_is_refused_where_it_is_not(
    tiny: Tiny, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, device: str, capability: tuple[int, int]
) -> None:
    stand_in(monkeypatch, capability)
    with pytest.raises(InputError, match=r"has no TF32.*compute capability 8.0"):
        encode(texts, EncoderConfig(tiny("gpt2"), dtype="tf32"), device=device)


def test_tf32_is_refused_on_amds_devices(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    monkeypatch.setattr(torch.version, "hip", "6.4")
    with pytest.raises(InputError, match="has no TF32"):
        encode(TEXTS, EncoderConfig(tiny("gpt2"), dtype="tf32"), device="cuda")
    assert choose_precision(EncoderConfig(tiny("gpt2"), dtype="auto"), "cuda").config.dtype == "bfloat16"


def test_weights_of_tf32_are_float32(tiny: Tiny) -> None:
    assert load_model(tiny("gpt2"), dtype="tf32", device="cpu").model.dtype == torch.float32


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(("dtype", "inside"), [("tf32", "tf32"), ("float32", "ieee")])
def test_products_hold_in_every_pass_and_nowhere_else(
    tiny: Tiny,
    texts: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    setting: Callable[[], str],
    dtype: Any,
    inside: str,
    packed: bool,
) -> None:
    stand_in(monkeypatch)
    defaults = devices._settings()
    devices._set(devices._wanted("tf32" if inside == "ieee" else "ieee"))  # what a caller chose for the process
    before, forward, seen = setting(), Encoder._forward, []

    def spy(self: Encoder, *args: Any) -> Any:
        seen.append((threading.get_ident(), setting()))
        return forward(self, *args)

    monkeypatch.setattr(Encoder, "_forward", spy)
    Encoder(EncoderConfig(tiny("gpt2"), dtype=dtype), device="cuda", batch_tokens=40, packed=packed).encode(texts)
    assert {found for _, found in seen} == {inside}
    assert threading.get_ident() not in {thread for thread, _ in seen}, "two devices, so both have a worker"
    assert setting() == before
    devices._set(defaults)


def test_products_are_restored_after_an_error(
    tiny: Tiny, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, setting: Callable[[], str]
) -> None:
    stand_in(monkeypatch)
    before = setting()

    def broken(*_: Any) -> Any:
        assert setting() == "tf32"
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(Encoder, "_forward", broken)
    for device in ("cuda", "cuda:0"):  # in workers, and in this thread
        with pytest.raises(InputError, match="does not fit in the memory"):
            encode(texts, EncoderConfig(tiny("gpt2"), dtype="tf32"), device=device)
        assert setting() == before


def test_a_cpu_leaves_the_setting_alone(setting: Callable[[], str]) -> None:
    before = setting()
    with matrix_products("tf32", "cpu"):
        assert setting() == before


def test_convolutions_follow_the_precision_that_was_asked_for(setting: Callable[[], str]) -> None:
    before = setting()
    assert before.endswith("tf32"), "torch's default: TF32 for convolutions, whatever the products' setting"
    for products_ in ("ieee", "tf32"):
        with matrix_products(products_, "cuda"):
            assert setting() == products_
    assert setting() == before


def test_passes_of_unlike_products_take_turns(setting: Callable[[], str]) -> None:
    before, seen, asked = setting(), [], threading.Event()

    def other() -> None:
        asked.set()
        with matrix_products("ieee", "cuda:1"):
            seen.append(setting())

    thread = threading.Thread(target=other)
    with matrix_products("tf32", "cuda:0"):
        thread.start()
        assert asked.wait(10)
        with matrix_products("tf32", "cuda:1"):  # the same kind at the same time
            thread.join(0.1)
            seen.append(setting())
        assert setting() == "tf32"
    thread.join(10)
    assert seen == ["tf32", "ieee"]
    assert setting() == before


def test_the_errors_are_those_of_the_benchmark() -> None:
    rows = re.findall(r"^\| ours, (\w+) \|.* (\d\S+) \| [^|]+ \|$", RESULTS.read_text(encoding="utf-8"), re.MULTILINE)
    measured = {name.replace("TF32", "tf32"): float(error) for name, error in rows}
    assert measured == {**ERRORS, "float32": 0.0}


def test_the_changes_of_mauve_are_those_of_the_benchmark() -> None:
    page = RESULTS.with_name("encoding_precision.md").read_text(encoding="utf-8")
    measured: dict[str, float] = {}
    for name, change in re.findall(r"^\| (\w+) \| \d.* \| (\S+) \|$", page, re.MULTILINE):
        measured[name] = max(float(change), measured.get(name, 0.0))
    assert measured == MAUVE_CHANGES
