"""Faults are planted where they say, and reach enough packages; whether they are noticed takes minutes to find out."""

from __future__ import annotations

from tests.planted_faults import FAULTS, ROOT


def test_a_fault_has_one_place() -> None:
    for name, fault in FAULTS.items():
        assert (ROOT / fault.file).read_text(encoding="utf-8").count(fault.right) == 1, name
        assert fault.right != fault.wrong, name


def test_every_package_has_a_fault() -> None:
    packages = {folder.parent.name for folder in (ROOT / "mauve_core").glob("*/__init__.py")}
    assert {name.partition(":")[0] for name in FAULTS} == packages | {"app", "molecules"}
