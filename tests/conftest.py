"""What every test shares: a home of its own, no way to a model hub, and a line at the end for what a machine lacks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

# A property is a claim about numbers, not about time: a busy machine must not fail it. CI draws the same examples
# every time; elsewhere they vary, and what they find becomes a test.
settings.register_profile("default", deadline=None, max_examples=25)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub, which reads it once
# Before anything imports numba: the threads of two test workers would wait for one another.
os.environ["NUMBA_NUM_THREADS"] = "1"
# No test outlives a power cut, and waiting for the disk takes a twelfth of their time. What must be flushed, and in
# which order, is asked of a stand-in (tests/store/test_power_cuts.py); processes that tests start flush as always.
os.fsync = lambda _: None


# What could not be tested here, a sentence each.
LEFT_OUT = pytest.StashKey[set[str]]()

NO_GPU = "THE CUDA TESTS RAN ON STAND-INS ALONE: no CUDA device on this machine"


# When the first test began.
BEGUN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--within", type=float, metavar="SECONDS", help="begin no test so many seconds after the first")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """``make quick`` ends in time, and so do CI's trials on a slow machine; what was left out is said."""
    within: float | None = item.config.getoption("--within")
    begun = item.config.stash.setdefault(BEGUN, time.monotonic())
    if within is not None and time.monotonic() - begun > within:
        item.config.stash[LEFT_OUT].add(f"SOME TESTS WERE LEFT OUT: not begun within {within:g} s")
        pytest.skip(f"not begun within {within:g} s")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first, the browser's before all: a worker takes whole files, and a long one at the end runs alone."""
    _leave_out_gpu(config, items)
    if config.getoption("--within") is not None:
        return  # the nearest first
    rank: dict[Path, int] = {}
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        own = 0 if "browser" in marks else 1 if "slow" in marks else 2
        rank[item.path] = min(own, rank.get(item.path, 2))
    items.sort(key=lambda item: rank[item.path])


def _leave_out_gpu(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked ``gpu`` go where there is none; torch is asked only where some are there, which have loaded it."""
    found = [item for item in items if item.get_closest_marker("gpu")]
    if not found:
        return
    import torch

    if not torch.cuda.is_available():
        items[:] = [item for item in items if item not in found]
        config.hook.pytest_deselected(items=found)
        config.stash[LEFT_OUT].add(NO_GPU)


def missing(config: pytest.Config, reason: str) -> NoReturn:
    """Skip the test, which lacks something of the machine, and say so at the very end too; in CI, fail it."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    config.stash[LEFT_OUT].add(reason)
    pytest.skip(reason)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of pytest-xdist: hand what was left out to who writes the summary."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = sorted(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    handed: Sequence[str] = getattr(node, "workeroutput", {}).get("left_out", ())
    node.config.stash[LEFT_OUT].update(handed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say it once more at the very end, where it is seen."""
    for reason in sorted(config.stash[LEFT_OUT]):
        terminalreporter.write_line(reason, red=True, bold=True)


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """What is trained has equal digits on equally many threads alone, and some libraries change their number for good.

    The threads of two test workers on two cores would wait for one another, too.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session", autouse=True)
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of what outlives a test: fixtures of modules are made before a test has :func:`own_home`."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        yield home


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the program, so that no test sees the user's runs or another test's."""
    home = tmp_path / "home"
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    return home
