"""What leaves the machine: nothing, unless a hub model is named."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import pytest

from mauve_core import EncoderConfig, compute_mauve
from mauve_core.analyses.measure_inputs import MeasureContext
from mauve_core.base.config import DEFAULT_MODEL, PAPERS_MODEL
from mauve_core.base.errors import ModelUnavailableError
from mauve_core.encoders import hub
from mauve_core.encoders.catalogue import PACKAGED, check_model, identify, must_be_fetched
from tests.files_on_disk import write_study
from tests.lookups import ROOT, looked_up, watched

FAST = ("--seeds", "2", "--bootstrap", "100", "--k", "4", "--no-map", "--max-tokens", "4", "--device", "cpu")
DEFAULT = f"{DEFAULT_MODEL} (4-bit quantized SmolLM2-135M-Instruct)"
SAID = f"Encoder: {DEFAULT}, the default; the papers use --encoder {PAPERS_MODEL}"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The options that name a study's texts."""
    write_study(tmp_path / "files")
    return ["--human", str(tmp_path / "files/human.jsonl"), "--model", f"close={tmp_path / 'files/close.jsonl'}"]


def mauve_lens(log: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, whose look-ups are noted."""
    command = [sys.executable, "-m", "mauve_core", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=watched(log), check=False)


@pytest.mark.trial
def test_compare_without_an_encoder_looks_nothing_up_and_says_what_it_took(tmp_path: Path, files: list[str]) -> None:
    log = tmp_path / "lookups"
    result = mauve_lens(log, ["compare", *files, *FAST])
    assert result.returncode == 0, result.stderr
    assert looked_up(log) == []
    assert result.stderr.startswith(SAID)
    assert f"encoder: {DEFAULT}," in result.stdout


@pytest.mark.slow
def test_a_named_hub_model_is_looked_up(tmp_path: Path, files: list[str]) -> None:
    log = tmp_path / "lookups"
    result = mauve_lens(log, ["compare", *files, *FAST, "--encoder", PAPERS_MODEL])
    assert result.returncode == 2
    assert "hub.invalid" in "".join(looked_up(log)), "what is not noticed here would not be noticed above either"
    assert "the hub cannot be reached" in result.stderr
    assert all(name in result.stderr for name in PACKAGED)
    assert SAID not in result.stderr


def test_there_is_one_default() -> None:
    assert DEFAULT_MODEL in PACKAGED
    assert EncoderConfig().model == MeasureContext().tokenizer == DEFAULT_MODEL
    taken = inspect.signature(compute_mauve).parameters["featurize_model_name"].default
    assert taken == PAPERS_MODEL == "gpt2-large", "the reference package's signature"


# The hub


def test_a_cached_commit_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models--some--model"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text("0" * 40)
    (folder / "snapshots" / ("0" * 40)).mkdir(parents=True)
    (folder / "snapshots" / ("0" * 40) / "config.json").write_text("{}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert identify("some/model").revision == "0" * 40
    assert not must_be_fetched("some/model")
    assert must_be_fetched("some/other")
    assert not must_be_fetched("minilm")


def test_the_hub_has_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = Event()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "_by_environment", None)
    monkeypatch.setattr("huggingface_hub.resolve_revision", lambda *_, **__: silent.wait())
    monkeypatch.setattr(hub, "HUB_TIMEOUT_S", 0.05)
    try:
        with pytest.raises(ModelUnavailableError, match=r"hub cannot be reached.*smollm2-135m"):
            identify("nobody/nothing")
    finally:
        silent.set()


@pytest.mark.slow
def test_pages_do_not_ask_and_their_workers_may(tmp_path: Path) -> None:
    log = tmp_path / "lookups"
    script = """
import subprocess, sys
from mauve_core.encoders import hub, check_model, identify
from mauve_core.encoders import servers
from mauve_core.base.errors import ModelUnavailableError
hub.never_ask()
hub.never_ask()
print(servers._never)
check_model("nobody/nothing")  # whether there is one, the worker finds out
for name in ("nobody/nothing", "no such model"):
    try:
        identify(name)
    except ModelUnavailableError as error:
        print(error.wrong)
started = "from huggingface_hub import constants; print(constants.HF_HUB_OFFLINE)"
subprocess.run([sys.executable, "-c", started], check=True)
"""
    command = [sys.executable, "-u", "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=watched(log), check=True)
    assert looked_up(log) == []
    asks_no_server, first, second, started = result.stdout.splitlines()
    assert asks_no_server == "True"
    assert started == "False"
    assert "is not on this machine, and pages do not download models" in first
    assert "nor a hub id" in second


def test_offline_mode_is_said_at_once() -> None:
    with pytest.raises(ModelUnavailableError, match="HF_HUB_OFFLINE"):
        check_model("nobody/nothing")


@pytest.mark.parametrize("name", ["a--b", "~nobody-here/x", "a\0b", "/"])
def test_a_name_that_can_be_no_model_is_refused(name: str) -> None:
    assert not must_be_fetched(name)
    with pytest.raises(ModelUnavailableError):
        check_model(name)
