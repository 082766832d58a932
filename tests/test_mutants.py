"""Mutants have the same key wherever their code lies, and what goes takes its own along."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import mutants

pytestmark = pytest.mark.integration

CODE = '''
"""About x < y."""
from typing import TYPE_CHECKING

from mauve_core.here import ValueError_

if TYPE_CHECKING:
    LIMIT = 1
HALF = 0.5


class Table:
    def first(self, rows: list[int] = 3, *, n: int) -> bool:
        """At most n + 1."""
        if n < 0:
            raise ValueError_(f"{n + 1}")
        return sorted(rows, key=len)[0] < n
'''
# The same under other names and in other words.
MOVED = (
    CODE.replace("here", "there").replace("rows", "lines").replace("About", "What is said about").replace("len", "abs")
)


def made(source: str, file: str) -> dict[str, str]:
    return {each.key: each.now for each in mutants.mutants_in(source, file)}


def test_a_key_outlives_a_move_and_other_names() -> None:
    before, after = made(CODE, "mauve_core/a.py"), made(f"import os\n\n{MOVED}", "mauve_core/runs/b.py")
    assert list(before) == list(after)
    assert {key.split(":")[0] for key in before} == {"HALF", "Table.first"}
    changed = made(CODE.replace("n < 0", "n < 1"), "mauve_core/a.py")
    assert {key.split(":")[0] for key in set(before) & set(changed)} == {"HALF"}


def test_each_mutant_is_another_program_and_changes_nothing_but_its_place() -> None:
    found = list(mutants.mutants_in(CODE, "mauve_core/a.py"))
    assert {each.now for each in found} >= {
        "(1.5)",
        "(n <= 0)",
        "pass",
        "return None",
        "(sorted(lines))".replace("lines", "rows"),
    }
    programs = set()
    for each in found:
        text = CODE.encode()
        assert text[each.begin : each.end].decode() == each.was
        programs.add(ast.dump(ast.parse(text[: each.begin] + each.now.encode() + text[each.end :])))
    assert len(programs) == len(found)
    assert ast.dump(ast.parse(CODE)) not in programs


def test_code_that_goes_takes_its_own_mutants_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "DRAWN", {"stats": 2, "others": 0})
    code = [f"def f{i}(x):\n    return x + {i}\n" for i in range(9)]
    whole = mutants.drawn(mutants.mutants_in("".join(code), "mauve_core/stats/a.py"))
    assert len({each.name for each in whole}) == len(whole) == 2
    kept = "".join(each for each in code if f"{whole[0].name}(" not in each)
    less = mutants.drawn(mutants.mutants_in(kept, "mauve_core/stats/moved.py"))
    assert whole[1].key in {each.key for each in less}
    assert whole[0].key not in {each.key for each in less}


@pytest.mark.parametrize(("package", "code"), [("stats", 1), ("others", 0)])
def test_one_that_lives_now_is_a_failure_in_numbers_alone(
    package: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {
        key: {
            "file": "a.py",
            "line": 1,
            "key": key,
            "package": package,
            "killed": killed,
            "by": "FAILED t" if killed else "",
        }
        for key, killed in (("a", True), ("b", False), ("c", True))
    }
    after = {"a": {**before["a"], "killed": False}, "b": {**before["b"], "killed": True}}
    assert mutants.compare(before, after) == code
    assert "1 live now, 1 are killed now, 1 are gone, of 3" in capsys.readouterr().out


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def tried(mutant: mutants.Mutant, folder: Path) -> dict[str, object]:
        asked.append(mutant.key)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return {"killed": True, "by": "", "seconds": 1}

    monkeypatch.setattr(mutants, "tried", tried)
    monkeypatch.setattr(mutants, "copy_checkout", lambda folder, root: None)
    found, out = list(mutants.mutants_in(CODE, "mauve_core/a.py")), tmp_path / "out.json"
    with pytest.raises(KeyboardInterrupt):
        mutants.run(out, tmp_path, found, jobs=1)
    known = set(mutants._read(out))
    mutants.run(out, tmp_path, found, jobs=2)
    assert 3 <= len(known) < len(found)
    assert set(mutants._read(out)) == {each.key for each in found}
    assert len(asked) == len(found) + 1


@pytest.mark.parametrize(("code", "found"), [("assert 1 < 2", ""), ("assert 1 < 1", "FAILED test_it.py::test_it")])
def test_a_failing_test_kills_and_a_passing_one_does_not(tmp_path: Path, code: str, found: str) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "test_it.py").write_text(f"def test_it():\n    {code}\n")
    assert mutants.first_failure(folder, ["test_it.py"], 60).partition(" - ")[0] == found
