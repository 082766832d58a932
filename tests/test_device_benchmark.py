"""benchmarks/device.py at toy size: every part has its rows, and nothing fails."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from tests.tiny_models import SENTENCES

ROOT = Path(__file__).parent.parent
WAYS = {
    "Matrix products": ("bfloat16", "float16", "TF32", "float32"),
    "Encoding": (
        *(f"ours, {kind}" for kind in ("bfloat16", "float16", "float32", "TF32")),
        *(f"our padded pass, {kind}" for kind in ("bfloat16", "float32")),
        *(f"mauve-text, {kind}, batches of {rows}" for kind in ("float16", "float32") for rows in (1, 2)),
    ),
    "From features to a score": (
        *("ours on the device", "plain torch on the device", "ours on the CPU", "mauve-text on the CPU"),
        *("ours on the device", "plain torch on the device", "ours on the CPU"),
    ),
    "k-means alone": (
        *("ours on the device, 1 start", "ours on the device, 5 starts", "plain torch on the device, 1 start"),
        *("ours on the CPU, 1 start", "faiss on the CPU, 1 random start, 100 iterations"),
        "scikit-learn on the CPU, 1 start",
        *("ours on the device, 1 start", "ours on the device, 5 starts", "plain torch on the device, 1 start"),
        "ours on the CPU, 1 start",
    ),
    "Generation": (
        *("ours", "ours through generate, batches of 128"),
        *("plain generate, one batch", "generate with a static cache, one batch"),
    ),
    "The map": ("ours on the device", "umap-learn on the CPU"),
    "A whole run": ("to the scores", "with the map"),
}


@pytest.mark.trial
@pytest.mark.rare
def test_every_way_has_a_row_and_none_fails(tmp_path: Path) -> None:
    found = rows_by_title(measured(tmp_path))
    assert {title: tuple(row["way"] for row in rows) for title, rows in found.items()} == WAYS
    for rows in found.values():
        for row in rows:
            assert float((row.get("µs a token") or row.get("seconds") or row["TFLOP/s"]).replace(",", "")) > 0, row
    for row in found["Encoding"]:
        assert float(row["differs by"]) < 0.02, row
    for row in (*found["From features to a score"], *found["k-means alone"]):
        assert float(row["objective / ours"]) == pytest.approx(1, abs=0.1), row
    for row in found["From features to a score"]:
        assert float(row["MAUVE"]) > 0.95, row
    for row in found["The map"]:
        assert float(row["trustworthiness"]) > 0.8, row


@pytest.mark.trial
@pytest.mark.rare
def test_what_runs_out_of_time_says_so(tmp_path: Path) -> None:
    page = measured(tmp_path, "--seconds", "5.2")
    assert page.count("out of time after") == 11  # all parts


def test_a_library_that_only_devices_have_is_asked_as_it_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the signature of flash-kmeans 0.3.1, which computes with scikit-learn."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    parts = importlib.import_module("device_parts")
    x = parts.made_up(300, 6, "cpu")[0]
    expected = KMeans(8, n_init=1, random_state=0).fit(x)

    def batch_kmeans_Euclid(  # noqa: N802
        x, n_clusters, max_iters=100, tol=0.0, init_centroids=None, verbose=False, *, use_heuristic=True
    ):
        found = KMeans(n_clusters, n_init=1, max_iter=max_iters, random_state=0).fit(x[0].numpy())
        return torch.from_numpy(found.labels_)[None], torch.from_numpy(found.cluster_centers_)[None], found.n_iter_

    monkeypatch.setitem(sys.modules, "flash_kmeans", SimpleNamespace(batch_kmeans_Euclid=batch_kmeans_Euclid))
    objective, iterations = parts.flash_kmeans(x, 8, 0, "cpu")
    assert objective == pytest.approx(expected.inertia_, rel=1e-5)
    assert iterations == expected.n_iter_


def measured(folder: Path, *options: str) -> str:
    words, draw = " ".join(SENTENCES).split(), np.random.default_rng(0)
    rows = [{"text": " ".join(draw.choice(words, size=size))} for size in draw.integers(10, 120, size=60)]
    texts, out = folder / "texts.jsonl", folder / "page.md"
    texts.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = [sys.executable, "benchmarks/device.py", "--texts", str(texts), "--out", str(out), "--toy", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    page = out.read_text(encoding="utf-8")
    assert "**Toy size on a CPU" in page
    return page


def rows_by_title(page: str) -> dict[str, list[dict[str, str]]]:
    """The tables of a page by the heading above them."""
    tables = {}
    for section in page.split("## ")[1:]:
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line[:1] == "|"]
        tables[section.splitlines()[0]] = [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]
    return tables
