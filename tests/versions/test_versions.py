"""The rows of ``python -m tests.versions`` are what pyproject.toml declares, and a row that differs is noticed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.supply.closure import ROOT, pinned
from tests.versions.__main__ import ROWS
from tests.versions.environments import constraints_beside, largest_difference

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What people have at versions of their own, which the program may not change.
OWN = ("torch", "transformers", "tokenizers", "numpy", "huggingface-hub")


def declared() -> dict[str, Requirement]:
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["models"]]
    return {canonicalize_name(each.name): each for each in map(Requirement, lines)}


@pytest.mark.parametrize("name", OWN)
def test_what_people_have_is_bounded_below_alone(name: str) -> None:
    assert {each.operator for each in declared()[name].specifier} == {">="}


def test_the_oldest_row_has_every_lower_bound_of_the_models() -> None:
    wanted = {*map(canonicalize_name, ROWS["oldest"])}
    assert {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["models"]} <= wanted
    for name, version in ROWS["oldest"].items():
        (bound,) = declared()[canonicalize_name(name)].specifier
        assert Version(bound.version) == Version(version), name


def test_every_row_is_within_the_ranges_and_the_newest_is_no_older_than_what_is_pinned() -> None:
    for row in ROWS.values():
        for name, version in row.items():
            assert declared()[canonicalize_name(name)].specifier.contains(version), (name, version)
    for name, version in ROWS["newest"].items():
        assert Version(version) >= Version(pinned("constraints.txt")[canonicalize_name(name)])


def test_nothing_that_is_there_is_constrained(tmp_path: Path) -> None:
    lines = constraints_beside({"torch": "2.6.0", "huggingface-hub": "0.34.0"}, tmp_path / "c.txt").read_text()
    names = {line.partition("==")[0] for line in lines.splitlines()}
    assert names == pinned("constraints.txt").keys() - {"torch", "huggingface-hub"}


def test_the_difference_is_that_of_the_worst_text_of_any_model(tmp_path: Path) -> None:
    ones = np.ones((3, 4), dtype=np.float32)
    other = ones.copy()
    other[1, 2] += 0.5  # of a norm of 2
    np.savez(tmp_path / "a.npz", first=ones, second=other)
    np.savez(tmp_path / "b.npz", first=ones, second=ones)
    assert largest_difference(tmp_path / "a.npz", tmp_path / "b.npz") == pytest.approx(0.25)
    assert largest_difference(tmp_path / "b.npz", tmp_path / "b.npz") == 0
