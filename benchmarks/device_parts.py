"""The parts of benchmarks/device.py, each run in a process of its own; see there."""

from __future__ import annotations

import importlib
import os
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

from device_bench import Bench, Scale, failure
from device_page import TABLE_OF, Row

# The module of a part, by the first word of its name. Others are not imported, which would take longer than some parts.
MODULES = {
    "prepare": "device_encoding",
    "encode": "device_encoding",
    "scores": "device_clustering",
    "kmeans": "device_clustering",
    "generation": "device_generation",
    "map": "device_map",
    "run": "device_run",
}


def run_part(name: str, scale: Scale, texts_file: Path, scratch: Path, results: Connection) -> None:
    """Run one part, sending rows as they come, and at last None."""
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_OFFLINE": "1"}
    warnings.simplefilter("ignore")  # scores of few texts, and what versions of libraries say
    kind = name.split("_")[0]
    try:
        part = getattr(importlib.import_module(MODULES[kind]), name)
        part(Bench(scale, texts_file, scratch, results.send))
    except Exception as error:  # noqa: BLE001
        results.send(Row(TABLE_OF[kind], "", name, note=failure(error)))
    results.send(None)
