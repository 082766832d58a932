"""Where a comparison clusters: where it encodes; with given features on a GPU if there is one."""

from __future__ import annotations

import sys

import pytest
import torch

from mauve_core.encoders import devices
from mauve_core.scoring.compare import NOTHING_ENCODED, array_device

GIVEN = f"{NOTHING_ENCODED}: features were given"


@pytest.mark.parametrize(
    ("requested", "used", "expected"),
    [
        ("auto", "cpu", "cpu"),
        ("auto", "cuda:0+cuda:1", "cuda:0"),
        ("cuda:1", "cuda:1", "cuda:1"),
        ("cuda:1,cuda:0", GIVEN, "cuda:1"),
        ("cuda", GIVEN, "cuda"),
        ("cpu", GIVEN, "cpu"),
    ],
)
def test_clusters_are_found_where_texts_are_encoded_or_where_it_was_requested(requested, used, expected, monkeypatch):
    monkeypatch.setattr(devices, "DRIVER_FILES", ())
    assert array_device(requested, used) == expected


@pytest.mark.parametrize("available", [True, False])
def test_given_features_are_clustered_on_the_first_gpu(available, monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path),))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert array_device("auto", GIVEN) == ("cuda:0" if available else "cpu")
    assert array_device("cpu", GIVEN) == "cpu"


def test_torch_is_not_loaded_where_there_is_no_driver_or_no_torch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it raises
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path / "missing"),))
    assert array_device("auto", GIVEN) == "cpu"
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path),))
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert array_device("auto", GIVEN) == "cpu"
