"""Work spread over threads: order, errors, and a BLAS that is left as it was."""

from __future__ import annotations

import threading
import time

import pytest
from threadpoolctl import threadpool_info

from mauve_core.stats import threads
from mauve_core.stats.threads import parallel_map, single_threaded_blas, usable_cores


@pytest.fixture
def three_cores(monkeypatch):
    monkeypatch.setattr(threads, "usable_cores", lambda: 3)


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_results_come_in_the_order_of_the_items_from_several_threads(three_cores):
    met = threading.Barrier(3, timeout=20)

    def square(number):
        met.wait()  # passes only when three run at once
        time.sleep(0.01 * (3 - number))
        return number**2

    assert parallel_map(square, [1, 2, 3]) == [1, 4, 9]


def test_a_call_within_a_call_stays_on_its_thread(three_cores):
    def inner(_):
        return threading.get_ident()

    def outer(_):
        return threading.get_ident(), set(parallel_map(inner, range(5)))

    for own, used in parallel_map(outer, range(4)):
        assert used == {own}


def test_blas_has_one_thread_inside_with_an_older_threadpoolctl(monkeypatch):
    monkeypatch.setattr(threads, "OpenBLASController", object)  # before 3.8 no thread owns the limit
    with single_threaded_blas():
        assert blas_threads() == {1}


def test_the_first_error_in_order_is_raised_and_items_not_begun_are_given_up(three_cores):
    begun = []

    def fail(number):
        begun.append(number)
        time.sleep(0.02 if number == 0 else 0)
        raise ValueError(str(number))

    with pytest.raises(ValueError, match=r"^0$"):
        parallel_map(fail, range(1000))
    assert len(begun) < 1000


def test_what_was_made_is_told_on_the_calling_thread_and_can_stop_the_rest(three_cores):
    told, done = [], []

    class StopError(Exception):
        pass

    def advance():
        told.append(threading.get_ident())
        if len(told) == 4:
            raise StopError

    with pytest.raises(StopError):
        parallel_map(lambda number: (time.sleep(0.001), done.append(number)), range(2000), advance)
    assert set(told) == {threading.get_ident()}
    assert len(done) < 2000


def test_blas_has_one_thread_inside_and_its_own_number_after_the_last_has_left():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        assert blas_threads() == {1}
        thread.start()
        entered.wait(20)
    assert blas_threads() == {1}  # the other is still inside
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize(("value", "cores"), [("1", 1), ("0", 1), ("100000", None), ("", None), ("two", None)])
def test_the_environment_can_ask_for_fewer_cores(monkeypatch, value, cores):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    every = usable_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert usable_cores() == (cores or every)
