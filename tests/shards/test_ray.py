"""The engine on Ray: one node, then two nodes of which one is killed; equal digests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.errors import InputError
from mauve_core.shards.comparison import compare_shards
from mauve_core.shards.engines import engine_for
from mauve_core.shards.plan import Work
from tests.sharded import MadeUp

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.slow, pytest.mark.trial, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def expected(made_up: MadeUp, tmp_path_factory: pytest.TempPathFactory) -> str:
    return made_up.compared(tmp_path_factory.mktemp("expected") / "work").digest()


def test_a_cluster_of_this_machine_gives_the_same(made_up: MadeUp, tmp_path: Path, expected: str) -> None:
    engine = engine_for("ray", 2)
    try:
        found = compare_shards(Work.begin(tmp_path / "work", made_up.plan), engine)
        assert found.engine == "ray, 2 workers on 1 node"
        assert found.digest() == expected
    finally:
        engine.close()
    assert not ray.is_initialized()


@pytest.fixture
def cluster() -> Iterator[tuple[str, Any]]:
    """Two nodes on the loopback, one core each, and the second of them."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = made.add_node(num_cpus=1)
    try:
        yield made.address, second
    finally:
        ray.shutdown()
        made.shutdown()


def node(_: Any, second: Any) -> int:
    return second.all_processes["raylet"][0].process.pid


def worker(engine: Any, _: Any) -> int:
    return ray.get(engine._idle[0].process.remote())


@pytest.mark.parametrize(("name", "after", "victim"), [("encode", 2, node), ("sum", 1, worker)])
def test_what_is_killed_in_mid_pass_changes_nothing(
    made_up: MadeUp,
    tmp_path: Path,
    expected: str,
    cluster: tuple[str, Any],
    name: str,
    after: int,
    victim: Callable[[Any, Any], int],
) -> None:
    address, second = cluster
    engine = engine_for(f"ray:{address}", 2)
    assert engine.name == "ray, 2 workers on 2 nodes"
    killed = []

    def kill(now: str, done: int, total: int) -> None:
        if (now, done) == (name, after) and not killed:
            killed.append(victim(engine, second))
            os.kill(killed[0], signal.SIGKILL)

    try:
        found = compare_shards(Work.begin(tmp_path / "work", made_up.plan), engine, progress=kill)
    finally:
        engine.close()
    assert killed
    assert found.digest() == expected


@pytest.mark.rare
def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"Ray cluster at 127\.0\.0\.1:1 cannot be reached"):
        engine_for("ray:127.0.0.1:1")
    with pytest.raises(InputError, match="HOST:PORT or auto"):
        engine_for("ray:head:here")


def test_nothing_is_reported_to_the_makers_of_ray() -> None:
    code = (
        "import os; from mauve_core.shards.engines import engine_for; engine_for('ray', 1).close(); "
        "print(os.environ['RAY_USAGE_STATS_ENABLED'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "RAY_USAGE_STATS_ENABLED"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "0"
