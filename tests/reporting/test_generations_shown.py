"""Both spreads of a candidate with several generations, named wherever its scores are written."""

from __future__ import annotations

import html

import pytest

from mauve_core.analyses.gap import prepare, what_if
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures.leaderboard import hover_label, leaderboard_frame, shown_table, titled
from mauve_core.findings.precomputed import run_basis
from mauve_core.reporting.html_report import html_report
from mauve_core.reporting.paper import latex_table, markdown_table, methods_paragraph
from mauve_core.runs import RunStore
from mauve_core.scoring.estimates import rescored, score_basis
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import to_json
from mauve_core.scoring.tables import mean_and_spread, pooled_sentence, spread_sentence, to_table
from mauve_core.stats.scores import SCORES
from tests.repeated import make_repeated_comparison, store_repeated


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return make_repeated_comparison()


def written_out(comparison: Comparison) -> str:
    """The MAUVE of ``close``, from its numbers."""
    found = comparison.candidate("close").scores["mauve"]
    assert found.generations_sd is not None
    return f"{found.mean:.3f} ± {found.sd:.3f} (seeds) ± {found.generations_sd:.3f} (3 generations)"


def test_the_terminal_and_json_give_both(compared: Comparison) -> None:
    found, table = compared.candidate("close").scores["mauve"], to_table(compared)
    lines = table.splitlines()
    place = next(i for i, line in enumerate(lines) if line.split()[:1] != ["close"] and " close " in line)
    assert "60 × 3" in lines[place]
    assert f"{found.mean:.3f} ± {found.sd:.3f} (seeds)" in lines[place]
    assert f"± {found.generations_sd:.3f} (3 generations)" in lines[place + 1]
    assert f"{found.low:.3f} to {found.high:.3f}" in lines[place + 2]
    assert table.count("(seeds)") == len(SCORES) + 1  # the row, and the explanation
    assert "± (generations) the spread over generations" in " ".join(table.split())
    close, shifted, _ = to_json(compared)["candidates"]
    assert close["mauve"]["generations"] == list(found.generations or ())
    assert close["mauve"]["generations_sd"] == found.generations_sd
    assert (close["generations"], close["n_scored"]) == (3, 60)
    assert set(shifted["mauve"]) == {"mean", "sd", "low", "high"}
    assert "generations" not in shifted


def test_figures_tables_and_captions_give_both(compared: Comparison) -> None:
    expected = written_out(compared)
    found = compared.candidate("close").scores["mauve"]
    assert with_plain_spaces(mean_and_spread(found)) == expected
    assert expected in with_plain_spaces(hover_label(found))
    frame = leaderboard_frame(compared, "pairwise").set_index("candidate")
    assert frame.loc["close", "mauve_generations_sd"] == found.generations_sd
    assert (frame.loc["close", "n"], frame.loc["close", "generations"]) == (60, 3)
    shown = shown_table(frame.reset_index(), str).set_index("Candidate")
    assert expected in with_plain_spaces(shown.loc["**close**", titled("mauve")]).replace("*", "")
    assert (shown.loc["**close**", "n"], shown.loc["**shifted**", "n"]) == ("60 × 3", "60")
    assert expected in markdown_table(compared)
    assert "± (generations)" in markdown_table(compared)
    latex = latex_table(compared)
    assert f"${found.mean:.3f} \\pm {found.sd:.3f}$ {{\\scriptsize (seeds)}}" in latex
    assert f"{{\\scriptsize $\\pm {found.generations_sd:.3f}$ (3 generations)}}" in latex
    assert r"$60 \times 3$" in latex
    assert "±" not in latex
    assert "generations" in methods_paragraph(compared)


def test_nothing_is_said_of_generations_without_any(compared: Comparison) -> None:
    shifted = compared.candidate("shifted").source
    assert pooled_sentence(shifted) == ""
    assert "3 generations of close count together" in pooled_sentence(compared.candidate("close").source)
    assert "generation" in spread_sentence(compared)


@pytest.mark.trial
def test_a_stored_run_keeps_scores_and_pools_texts_in_a_what_if() -> None:
    run = RunStore().load(store_repeated("Repeated").id)
    comparison = run.comparison
    assert run.corpora["close"].generations == make_generations()
    basis = run_basis(run, "pairwise", "none")
    again = run_basis(run, "pairwise", "none")  # as stored
    for found in (basis, again, score_basis(comparison, "pairwise", "none")):
        assert rescored(comparison, "pairwise", found, 5.0).candidate("close").scores == (
            comparison.candidate("close").scores
        )
    before = what_if(prepare(comparison, "close", basis=basis["close"])).before["mauve"]
    assert before.generations is None
    assert before == what_if(prepare(comparison, "close")).before["mauve"]
    assert before.mean > comparison.candidate("close").scores["mauve"].mean  # three times the texts, less bias
    shown = html.unescape(html_report(run).decode())
    assert written_out(comparison) in with_plain_spaces(shown)
    assert "count together here" in shown


def make_generations() -> tuple[str, ...]:
    return tuple(str(g) for _ in range(60) for g in range(3))
