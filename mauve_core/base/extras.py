"""Packages that only parts of the program need: imported when they are used, and asked for by name if missing.

The core (numbers, files, the command line, reports) needs neither torch nor streamlit. ``pyproject.toml`` lists the
packages of each extra; ``tests/supply/test_extras.py`` compares it with the table here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from mauve_core.base.errors import InputError

EXTRAS = {
    "models": (
        "accelerate",
        "gguf",
        "safetensors",
        "sentencepiece",
        "tokenizers",
        "torch",
        "transformers",
    ),
    "map": ("umap",),
    "methods": ("ot",),
    "app": ("authlib", "streamlit", "uvloop"),
    "demo": ("gensim",),
}
"""Names under which each extra's packages are imported."""

SEPARATE = {
    "completion": ("shtab",),
    "hf": ("datasets",),
    "images": ("kaleido",),
    "mcp": ("mcp",),
    "mlflow": ("alembic", "mlflow", "sqlalchemy"),
    "peft": ("peft",),
    "ray": ("ray",),
    "timm": ("timm",),
    "vllm": ("vllm",),
    "wandb": ("wandb",),
}
"""Those that ``mauve-lens[all]`` leaves out."""

_EXTRA_OF = {name: extra for extra, names in (EXTRAS | SEPARATE).items() for name in names}


class MissingPackageError(InputError):
    """A package that this needs is not installed."""


def missing(package: str, *, other: str = "") -> MissingPackageError:
    """The error that asks for a package of an extra; ``other`` says what can be done without it."""
    install = f"Install it: pip install 'mauve-lens[{_EXTRA_OF[package]}]'"
    return MissingPackageError(
        f"This needs the package {package}, which is not installed", todo=f"{install}; {other}" if other else install
    )


def require(package: str, *, other: str = "") -> None:
    """Raise MissingPackageError unless a package of an extra is installed; it is not imported."""
    if find_spec(package) is None:
        raise missing(package, other=other)


def require_map() -> None:
    """Raise MissingPackageError, before work that ends with a map, unless UMAP is installed."""
    require("umap", other="or leave out the map (projection=False, --no-map)")


@contextmanager
def asking_for_packages() -> Iterator[None]:
    """Around work that imports packages of extras: one that is missing becomes MissingPackageError."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA_OF or find_spec(package) is not None:  # else a fault, ours or the package's
            raise
        raise missing(package) from error
