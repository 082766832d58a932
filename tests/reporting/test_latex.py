"""The leaderboard as TeX reads it: its structure everywhere, and compiled where there is a pdfLaTeX."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.reporting.paper import PREAMBLE, latex_escaped, latex_table
from mauve_core.scoring.result import Comparison
from mauve_core.stats.scores import SCORES
from tests.conftest import missing
from tests.handmade import estimate, make_comparison
from tests.payloads import PAYLOADS

pytestmark = pytest.mark.integration

COMPILE_S = 120
NO_TEX = "THE LATEX TABLES WERE NOT COMPILED: no pdflatex with booktabs (apt-get install texlive-latex-recommended)"

LAYOUT = {
    r"\begin", r"\end", r"\centering", r"\caption", r"\footnotesize", r"\scriptsize", r"\small", r"\setlength",
    r"\tabcolsep", r"\medmuskip", r"\toprule", r"\midrule", r"\bottomrule", r"\\", r"\pm", r"\uparrow", r"\downarrow",
}  # fmt: skip
# What each command for a character prints, from the LaTeX companion's list of them.
CHARACTERS = {
    r"\textbackslash": "\\", r"\{": "{", r"\}": "}", r"\textasciitilde": "~", r"\textasciicircum": "^",
    r"\textless": "<", r"\textgreater": ">", r"\textbar": "|", r"\textquotedbl": '"', r"\textasciigrave": "`",
    r"\&": "&", r"\%": "%", r"\$": "$", r"\#": "#", r"\_": "_",
}  # fmt: skip

TOKEN = re.compile(r"\\(?:[a-zA-Z]+\*?|.)|\{\}|.", re.DOTALL)
# Characters that TeX does not print.
ACTIVE = set("#$%^_&~{}\\")

AWKWARD = (
    *PAYLOADS.values(),
    "50%_of {$x$} \\input{/etc/passwd} #1 & a~b^c | --- `'' <b> ,, ?` !`",
    '"quoted" "`german"\'',
    "*", "[1ex]", "\\\\", "%", "{", "}", "\\", "^^41", "\\end{tabular}", "]", "[", "--", "\\csname end\\endcsname",
    "grün łódź façade ąę ßß Ÿ „x“ ‘y’ –—… §",
    "日本語 🙂 עברית \u202eevil Ω × é́",
)  # fmt: skip


def tokens(latex: str) -> list[str]:
    """Commands with their backslash, empty groups, and single characters; comments are gone."""
    return TOKEN.findall("".join(line for line in latex.splitlines(keepends=True) if not line.startswith("%")))


def check_structure(latex: str, columns: int) -> None:
    """Groups, environments and mathematics close; each row has its cells; nothing but known commands."""
    groups: list[str] = []
    environments: list[str] = []
    mathematics = False
    cells: list[int] = [1]
    found = tokens(latex)
    body = range(found.index(r"\toprule"), found.index(r"\bottomrule"))
    for place, token in enumerate(found):
        if token.startswith("\\"):
            assert token in LAYOUT or token in CHARACTERS, token
        if token in (r"\begin", r"\end"):
            name = "".join(found[place + 2 : found.index("}", place)])
            if token == r"\begin":
                environments.append(name)
            else:
                assert environments.pop() == name
        if token == "{":
            groups.append(token)
        elif token == "}":
            assert groups.pop() == "{"
        elif token == "$":
            mathematics = not mathematics
        elif token == "&":
            assert not groups
            assert not mathematics
            cells[-1] += 1
        elif token == r"\\":
            assert not mathematics
            assert place in body
            after = "".join(found[place + 1 : place + 20]).lstrip()
            assert after[:1] not in ("[", "*"), "the end of a row would take it for its own"
            cells.append(1)
        else:
            assert token not in ACTIVE, token
    assert groups == environments == []
    assert not mathematics
    assert Counter(cells[:-1]) == {columns: len(cells) - 1}


def printed(latex: str) -> str:
    """What TeX prints of a name."""
    found = [CHARACTERS.get(token, token) for token in tokens(latex) if token != "{}"]
    return "".join(found)


def named(*names: str, encoder: str = "a_b") -> Comparison:
    """Two candidates of those names, with intervals as wide as can be."""
    found = make_comparison(
        first=dict.fromkeys(SCORES, estimate(0.9, 0.85, 0.95)), second=dict.fromkeys(SCORES, estimate(1.0, 1.0, 1.0))
    )
    candidates = []
    for candidate, name in zip(found.candidates, names, strict=True):
        parts = tuple(
            dataclasses.replace(
                part, labels={name if key == candidate.name else key: v for key, v in part.labels.items()}
            )
            for part in candidate.partitions
        )
        source = dataclasses.replace(candidate.source, name=name)
        candidates.append(dataclasses.replace(candidate, source=source, partitions=parts))
    config = CompareConfig(EncoderConfig(encoder), ScoreConfig(seeds=2))
    return dataclasses.replace(found, candidates=tuple(candidates), config=config)


@pytest.mark.parametrize("name", AWKWARD)
def test_the_table_is_whole_whatever_the_names(name: str) -> None:
    comparison = named(name, f"{name} b", encoder=f"/models/{name}")
    check_structure(latex_table(comparison, "pairwise"), columns=8)


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_every_name_is_printed_as_it_is(name: str) -> None:
    from mauve_core.base.formatting import printable

    assert printed(latex_escaped(name)) == printable(" ".join(name.split()))


@given(st.text(max_size=40))
def test_a_name_never_acts(name: str) -> None:
    found = tokens(latex_escaped(name))
    assert {token for token in found if token.startswith("\\")} <= CHARACTERS.keys()
    assert not ACTIVE & set(found)
    assert "\n" not in found


@pytest.mark.parametrize("text", ["--", "---", "''", "``", ",,", "?`", "!`", "<<", ">>"])
def test_no_two_characters_are_drawn_together(text: str) -> None:
    escaped = latex_escaped(text)
    assert printed(escaped) == text
    assert text not in escaped.replace("{}", "\0")


# Compiled


@pytest.fixture(scope="module")
def pdflatex(pytestconfig: pytest.Config) -> str:
    path, look = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if path is None or look is None or subprocess.run([look, "booktabs.sty"], capture_output=True).returncode:
        missing(pytestconfig, NO_TEX)
    return path


def compiled(pdflatex: str, folder: Path, *tables: str, may_be_wide: bool = False) -> str:
    """The log of a paper that holds these tables; what is wrong in it fails the test."""
    lines = [r"\documentclass[10pt]{article}", *PREAMBLE, r"\begin{document}", *tables, r"\end{document}"]
    (folder / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    command = [pdflatex, "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=COMPILE_S)
    log = (folder / "paper.log").read_text(encoding="utf-8", errors="replace").replace("\n", "\0")
    problems = re.findall(
        r"\0! [^\0]*|Overfull[^\0]*|Missing character[^\0]*|LaTeX Warning: [^\0]*|LaTeX Font Warning[^\0]*", log
    )
    assert done.returncode == 0, problems
    allowed = ("Overfull", "LaTeX Warning: Label") if may_be_wide else ("LaTeX Warning: Label",)
    assert [problem for problem in problems if not problem.startswith(allowed)] == []
    return log


@pytest.mark.slow
def test_every_character_that_is_left_as_it_is_compiles(pdflatex: str, tmp_path: Path) -> None:
    every = [chr(code) for code in range(32, 0x3000) if latex_escaped(f"a{chr(code)}b")[1:-1] == chr(code)]
    assert {"é", "ł", "ß", "–", "€"} <= set(every)
    compiled(pdflatex, tmp_path, " ".join(every))


@pytest.mark.slow
def test_the_table_of_usual_names_fits_a_column_of_text(pdflatex: str, tmp_path: Path) -> None:
    """``contrastive:alpha=0.6,k=5`` is the longest name of the demo; article's text is 345 pt wide."""
    compiled(pdflatex, tmp_path, latex_table(named("contrastive:alpha=0.6,k=5", "nucleus:p=0.95")))


@pytest.mark.slow
def test_it_compiles_with_every_awkward_name(pdflatex: str, tmp_path: Path) -> None:
    tables = [latex_table(named(name, f"{name} b", encoder=name)) for name in AWKWARD]
    log = compiled(pdflatex, tmp_path, *tables, may_be_wide=True)
    assert "Output written" in log
