"""Caches are bounded by bytes: what takes too much goes, the oldest first, and what pages show stays."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit

from mauve_app import bounded_cache, cache
from mauve_app.bounded_cache import SAMPLED, memory_use
from mauve_core.base.errors import InputError
from mauve_core.runs import RunStore
from mauve_core.texts import limits
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

MB = 1_000_000


@pytest.fixture
def empty() -> Iterator[None]:
    streamlit.cache_resource.clear()
    gc.collect()
    yield
    streamlit.cache_resource.clear()


@pytest.fixture
def calls() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def arrays(empty: None, calls: list[tuple[str, int]]) -> Callable[[int], np.ndarray]:
    """Arrays of ten megabytes by number."""

    @bounded_cache.kept(max_entries=100)
    def array_of(number: int) -> np.ndarray:
        calls.append(("array", number))
        return np.full(10 * MB, number, np.uint8)

    return array_of


@pytest.fixture
def texts(empty: None, calls: list[tuple[str, int]]) -> Callable[[int], str]:
    """Texts of ten megabytes by number."""

    @bounded_cache.kept(max_entries=100)
    def text_of(number: int) -> str:
        calls.append(("text", number))
        return str(number) * 10 * MB

    return text_of


def test_what_was_used_for_longest_goes_first(
    arrays: Callable[[int], np.ndarray], calls: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(limits.CACHE_VARIABLE, "35")
    for number in (0, 1, 2, 0, 3):  # 3 takes the place of 1
        assert arrays(number)[0] == number
    assert calls == [("array", number) for number in (0, 1, 2, 3)]
    assert 30 * MB <= bounded_cache.BUDGET.bytes <= 31 * MB
    for number in (0, 2, 3):
        arrays(number)
    assert len(calls) == 4
    arrays(1)
    assert calls[4:] == [("array", 1)]


def test_all_functions_share_the_bytes_and_each_keeps_its_last(
    arrays: Callable[[int], np.ndarray],
    texts: Callable[[int], str],
    calls: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(limits.CACHE_VARIABLE, "5")
    arrays(1)
    for number in range(5):
        texts(number)
    assert 20 * MB <= bounded_cache.BUDGET.bytes <= 21 * MB
    before = len(calls)
    arrays(1)
    texts(4)
    assert len(calls) == before, "a page that shows both computes nothing again"
    texts(3)
    assert len(calls) == before + 1


@pytest.mark.usefixtures("empty")
def test_what_was_dropped_is_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.CACHE_VARIABLE, "1")

    class Value:
        def __init__(self) -> None:
            self.data = bytes(2 * MB)

    @bounded_cache.kept(max_entries=100)
    def value_of(number: int) -> Value:
        return Value()

    for number in range(4):
        value_of(number)
    gc.collect()
    assert len([found for found in gc.get_objects() if type(found) is Value]) == 1


def test_what_streamlit_drops_is_not_counted(arrays: Callable[[int], np.ndarray]) -> None:
    arrays(0)
    arrays(1)
    assert bounded_cache.BUDGET.bytes >= 20 * MB
    streamlit.cache_resource.clear()
    gc.collect()
    assert bounded_cache.BUDGET.bytes == 0


def test_a_bound_that_is_no_number_is_an_error(
    arrays: Callable[[int], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(limits.CACHE_VARIABLE, "much")
    with pytest.raises(InputError, match="whole number above 0"):
        arrays(0)


@pytest.mark.usefixtures("empty")
def test_pages_runs_stay_within_the_bound(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_run(own_home, n=200, seeds=1, projection=False)
    runs = [first, *(RunStore().save(f"run {place}", first.comparison, first.corpora) for place in range(2))]
    alone = memory_use(cache.load_run(runs[0].id))
    assert alone > sum(len(text) for corpus in runs[0].corpora.values() for text in corpus.texts)
    monkeypatch.setattr(bounded_cache, "MEGABYTE", alone)
    monkeypatch.setenv(limits.CACHE_VARIABLE, "1")
    for run in runs:
        shown = cache.load_run(run.id)
        assert cache.load_run(run.id) is shown
        assert bounded_cache.BUDGET.bytes <= 1.5 * alone


@dataclass(frozen=True, slots=True)
class Slotted:
    array: np.ndarray
    more: tuple[str, ...]


def test_memory_use_is_about_what_a_value_takes() -> None:
    for value, expected in (
        (np.zeros(10 * MB, np.uint8), 10 * MB),
        ([bytes(1000 + place % 7) for place in range(10_000)], 10_000 * 1043),
        ({f"{place:09}": f"{place:09}" * 100 for place in range(10_000)}, 10_000 * (58 + 949 + 30)),
        (pd.DataFrame({"a": [f"{place:09}" * 100 for place in range(10_000)]}), 10_000 * (949 + 8)),
        (Slotted(np.zeros(MB), ("x" * MB,)), 9 * MB),
        (np.array(["x" * 1000 + str(place) for place in range(1000)], object), 1000 * (1052 + 8)),
    ):
        assert memory_use(value) == pytest.approx(expected, rel=0.1), type(value)


def test_memory_use_counts_an_object_once_and_maps_not_at_all(tmp_path: Path) -> None:
    array = np.zeros(MB, np.uint8)
    assert memory_use([array, array, array[::2], {"x": array}]) < 1.01 * MB
    np.save(tmp_path / "a.npy", array)
    assert memory_use(np.load(tmp_path / "a.npy", mmap_mode="r")) < 1000
    loop: list[object] = []
    loop.append(loop)
    assert memory_use(loop) == sys.getsizeof(loop)
    assert SAMPLED < 1000
