"""Examples in docstrings say what happens: each is run, without a network, in an empty folder."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import mauve_core
from mauve_core.scoring.estimates import divergence

pytestmark = pytest.mark.integration

# Public names that begin a reader's first program.
WITH_EXAMPLES = ("RunStore", "compare", "compute_mauve", "divergence", "figure", "read_corpus")

# Those that are not imported from the package itself.
OTHERS = {"divergence": divergence}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_example_of_a_public_name_is_true(
    name: str, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = OTHERS.get(name) or getattr(mauve_core, name)
    module = importlib.import_module(target.__module__)
    (found,) = doctest.DocTestFinder(recurse=False).find(target, name, module=module, globs={})
    assert len(found.examples) > 3
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=said.append)
    assert result.failed == 0, "".join(said)
