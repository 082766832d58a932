"""Methods whose work is done by a package above that of their class.

``run.clusters()`` belongs on a run, but the analysis behind it lies above the store, and imports point down. A method
therefore names a view, the package's entrance says which function it is, and the function's module is imported when
the method is called for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_FUNCTIONS: dict[str, str] = {}


def set_views(functions: Mapping[str, str]) -> None:
    """Say for each view which function it is: ``module:function``."""
    _FUNCTIONS.update(functions)


def view(name: str) -> Callable[..., Any]:
    """Return the function of a view; KeyError for a name that the entrance does not know."""
    module, _, function = _FUNCTIONS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
