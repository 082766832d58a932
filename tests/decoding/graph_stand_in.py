"""A CUDA device and its graphs, for which the CPU stands in: what is recorded runs again on the same tensors.

As on a device, a graph knows tensors by their memory alone, and an operation that the host would wait for cannot be
recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import BatchEncoding

# Operations whose result the host waits for.
WAITING = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "masked_select")


class Graph:
    """``torch.cuda.CUDAGraph`` as far as it is used."""

    recorded = 0
    replayed = 0

    def __init__(self, keep_graph: bool = False) -> None:
        self.steps: list[tuple[Any, Any, Any, Any]] = []

    def replay(self) -> None:
        Graph.replayed += 1
        for run, args, options, before in self.steps:
            after = run(*args, **options)
            for old, new in zip(tree_leaves(before), tree_leaves(after), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class _Recorder(TorchDispatchMode):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert name not in WAITING, f"{name} cannot be recorded"
        result = func(*args, **(kwargs or {}))
        self._graph.steps.append((func, args, kwargs or {}, result))
        return result


@contextmanager
def graph(
    cuda_graph: Graph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
) -> Iterator[None]:
    """``torch.cuda.graph``. What is recorded runs once, which a device would not do: the cache is read from anew."""
    assert capture_error_mode in {"global", "thread_local", "relaxed"}
    Graph.recorded += 1
    with _Recorder(cuda_graph):
        yield


class Stream:
    """``torch.cuda.Stream`` and the current one."""

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self.waited_for: list[Stream] = []

    def wait_stream(self, stream: Stream) -> None:
        self.waited_for.append(stream)


def stand_in(patch: pytest.MonkeyPatch, free: int = 2**40) -> None:
    """Let a CUDA device, graphs, streams and memory exist until ``patch`` ends; ``free`` is in bytes."""
    patch.setattr(BatchEncoding, "to", lambda self, device, *, non_blocking=False: self)
    Graph.recorded = Graph.replayed = 0
    current = Stream()
    for name, value in {
        "CUDAGraph": Graph,
        "graph": graph,
        "Stream": Stream,
        "current_stream": lambda device=None: current,
        "stream": lambda stream: nullcontext(),
        "device": lambda device: nullcontext(),
        "mem_get_info": lambda device=None: (free, free),
        "memory_reserved": lambda device=None: 0,
        "memory_allocated": lambda device=None: 0,
    }.items():
        patch.setattr(torch.cuda, name, value)
