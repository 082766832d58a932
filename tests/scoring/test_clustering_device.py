"""Where a comparison clusters: where it was requested, otherwise on a GPU if there is one."""

from __future__ import annotations

import sys

import pytest
import torch

from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.encoders import Encoder, devices
from mauve_core.encoders.features import FeatureStore
from mauve_core.scoring.compare import CLUSTERING_DEVICE, array_device, compare
from tests.encoders.cuda_stand_in import stand_in
from tests.synthetic import make_comparison_inputs
from tests.tiny_models import make_gpt2


@pytest.mark.parametrize(
    ("requested", "expected"),
    [("cuda:1", "cuda:1"), ("cuda:1,cuda:0", "cuda:1"), ("cuda", "cuda"), ("cpu", "cpu"), ("mps", "cpu")],
)
def test_what_was_requested_counts_whatever_the_machine_has(requested, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert array_device(requested) == expected


@pytest.mark.parametrize("available", [True, False])
def test_auto_is_the_first_gpu(available, monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path),))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert array_device("auto") == ("cuda:0" if available else "cpu")


def test_torch_is_asked_without_a_driver_file_if_it_is_loaded(monkeypatch, tmp_path):
    """Other systems have no such files."""
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path / "missing"),))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert array_device("auto") == "cuda:0"


def test_torch_is_not_loaded_where_there_is_no_driver_or_no_torch(monkeypatch, tmp_path):
    loaded = {name: None for name in sys.modules if name.split(".")[0] == "torch"}
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path / "missing"),))
    assert array_device("auto") == "cpu"
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path),))
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert array_device("auto") == "cpu"
    assert "torch" not in sys.modules


@pytest.mark.parametrize("requested", ["cpu", "auto"])
def test_features_that_a_gpu_encoded_are_clustered_where_it_is_missing(requested, tmp_path, monkeypatch):
    """The feature store tells the device of the run that encoded them."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    human, candidates, _ = make_comparison_inputs(40)
    config = CompareConfig(
        encoder=EncoderConfig(str(make_gpt2(tmp_path / "gpt2")), max_tokens=8),
        score=ScoreConfig(seeds=2, restarts=1, bootstrap=100),
        projection=False,
    )
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        for corpus in (human, candidates["close"]):
            Encoder(config.encoder, device="cuda:0").encode(corpus.texts, store=FeatureStore())
    found = compare(human, {"close": candidates["close"]}, config, feature_store=FeatureStore(), device=requested)
    assert found.environment["device"] == "cuda:0"
    assert found.environment[CLUSTERING_DEVICE] == "cpu"
