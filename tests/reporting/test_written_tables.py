"""Leaderboards for papers: every number by hand-made scores, ties, and names that LaTeX or Markdown would act on."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.reporting.paper import latex_escaped, latex_table, markdown_escaped, markdown_table, methods_paragraph
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.stats.scores import SCORES
from tests.handmade import estimate, make_comparison, untested

HOSTILE = "50%_of {$x$} \\input{/etc/passwd} #1 & a~b^c | --- `'' <b>"


def comparison(*, tied: bool = False, sd: float | None = 0.01) -> Comparison:
    first = estimate(0.9, 0.85, 0.95, sd=sd)
    second = estimate(0.8, 0.75, 0.86 if tied else 0.84, sd=sd)
    return untested(make_comparison(first=dict.fromkeys(SCORES, first), second=dict.fromkeys(SCORES, second)))


def renamed(found: Comparison, name: str) -> Comparison:
    candidate = found.candidates[0]
    source = dataclasses.replace(candidate.source, name=name)
    parts = tuple(
        dataclasses.replace(part, labels={name if key == candidate.name else key: v for key, v in part.labels.items()})
        for part in candidate.partitions
    )
    first = dataclasses.replace(candidate, source=source, partitions=parts)
    return dataclasses.replace(found, candidates=(first, *found.candidates[1:]))


def rows_of(latex: str) -> list[list[str]]:
    """Cells of the rows between the rules."""
    body = latex.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)&", line.strip().removesuffix(r"\\"))]
        for line in body.splitlines()
        if line.strip()
    ]


def test_latex_has_score_spread_interval_rank_and_sizes() -> None:
    rows = rows_of(latex_table(comparison()))
    assert rows[0][0] == "1"
    assert rows[0][2:6] == [r"$0.900 \pm 0.010$"] * 4
    assert rows[1][2:6] == [r"{\scriptsize $[0.850, 0.950]$}"] * 4
    assert rows[0][6:] == ["5", "3"]
    assert rows[2][:2] == ["2", "b"]
    assert [row[:2] for row in rows[1:5:2]] == [["", r"{\scriptsize a}"], ["", r"{\scriptsize b}"]]
    assert rows[5][:2] == ["", ""]
    assert rows[4][:2] == ["--", "human vs. human"]
    assert {len(row) for row in rows} == {8}


def test_negative_numbers_have_the_sign_of_their_format() -> None:
    low = make_comparison(first=dict.fromkeys(SCORES, estimate(0.001, -0.002, 0.004)))
    assert r"{\scriptsize $[-0.002, 0.004]$}" in latex_table(low)
    assert r"\[−0.002, 0.004\]" in markdown_table(low)


def test_ties_share_a_rank_in_both_formats() -> None:
    assert [row[0] for row in rows_of(latex_table(comparison(tied=True)))[:4:2]] == ["1$=$", "1$=$"]
    marked = [line.split(" | ")[:2] for line in markdown_table(comparison(tied=True)).splitlines()[2:4]]
    assert marked == [["| 1=", "a"], ["| 1=", "a"]]


def test_letters_and_what_they_mean_stand_in_both_formats() -> None:
    """a and b are told apart, c from neither: the classic a, b, ab, which ranks alone cannot say."""
    found = comparison()
    a, b = found.candidates
    c = dataclasses.replace(a, source=dataclasses.replace(a.source, name="c"))
    parts = tuple(dataclasses.replace(part, labels={**part.labels, "c": part.labels[a.name]}) for part in a.partitions)
    c = dataclasses.replace(c, partitions=parts)
    tests = tuple(
        Difference("mauve", one, other, 0.1, 0.05, 0.15, p, p, 0.1, True, 5)
        for one, other, p in ((a.name, b.name, 0.01), (a.name, "c", 0.5), (b.name, "c", 0.5))
    )
    found = dataclasses.replace(found, candidates=(a, b, c), differences=tests)
    letters = {a.name: "a", "c": "ab", b.name: "b"}
    shown = {markdown_escaped(name): own for name, own in letters.items()}
    latex, lines = latex_table(found), markdown_table(found).splitlines()
    assert lines[0].startswith("| Rank | Letters | Candidate |")
    assert dict(line.split(" | ")[2:0:-1] for line in lines[2:5]) == shown
    assert lines[5].startswith("| – |  | human vs")
    rows = rows_of(latex)[:6]
    below = {row[1]: under[1] for row, under in zip(rows[::2], rows[1::2], strict=True)}
    assert below == {latex_escaped(name): rf"{{\scriptsize {own}}}" for name, own in letters.items()}
    for text in (latex, lines[-1].replace("\\", "")):
        assert "Candidates that share a letter are not told apart." in text


def test_the_notes_say_what_was_resampled() -> None:
    tested = with_a_test(comparison(), p_value=0.3)
    prompts = {source.name: np.arange(source.n, dtype=np.int32) for source in tested.sources}
    paired = dataclasses.replace(tested, prompts=prompts, prompts_by="prompts")
    for table in (latex_table, markdown_table):
        said = table(paired).replace("\\", "")
        assert "Resampled by prompt: 5 to 6 prompts shared with the human texts, matched by equal prompts." in said
        assert "texts are resampled one by one" in table(tested)
        assert "esampled" not in table(comparison())


def with_a_test(found: Comparison, *, p_value: float) -> Comparison:
    first, second = (candidate.name for candidate in found.candidates)
    test = Difference("mauve", first, second, 0.1, 0.05, 0.15, p_value, p_value, 0.1, True, 5)
    return dataclasses.replace(found, differences=(test,))


def test_a_test_decides_ties_and_its_rule_is_stated() -> None:
    """Against the intervals both times: they overlap where the test tells apart, and do not where it does not."""
    apart, alike = with_a_test(comparison(tied=True), p_value=0.01), with_a_test(comparison(), p_value=0.3)
    assert [row[0] for row in rows_of(latex_table(apart))[:4:2]] == ["1", "2"]
    assert [row[0] for row in rows_of(latex_table(alike))[:4:2]] == ["1$=$", "1$=$"]
    for text in (latex_table(apart), markdown_table(apart).replace("\\", ""), methods_paragraph(apart)):
        assert "t test of the difference, jackknife over prompts" in " ".join(text.split()).replace("{}", "")
        assert "overlap" not in text
    for text in (latex_table(comparison()), markdown_table(comparison())):
        assert "interval overlaps that of" in text
        assert "Candidates that share a letter have overlapping intervals." in text.replace("\\", "")
        assert "told apart" not in text


def test_the_paragraph_says_how_intervals_were_drawn() -> None:
    tested = with_a_test(comparison(), p_value=0.3)
    prompts = {source.name: np.arange(source.n, dtype=np.int32) for source in tested.sources}
    assert "texts drawn with replacement, clusters held fixed, texts exchanged" in methods_paragraph(tested)
    by_prompt = methods_paragraph(dataclasses.replace(tested, prompts=prompts, prompts_by="prompts"))
    shared = "prompts (5 to 6 prompts shared with the human texts, matched by equal prompts)"
    assert f"{shared} drawn with replacement, clusters held fixed, texts exchanged" in by_prompt


def test_one_candidate_has_no_rule_of_ranks() -> None:
    alone = dataclasses.replace(comparison(), candidates=comparison().candidates[:1], differences=())
    for text in (latex_table(alone), markdown_table(alone), methods_paragraph(alone)):
        assert "told apart" not in text
        assert "overlap" not in text
        assert "etter" not in text


def test_one_seed_has_no_spread_and_says_so() -> None:
    alone = dataclasses.replace(comparison(sd=None), config=CompareConfig(encoder=None, score=ScoreConfig(seeds=1)))
    alone = dataclasses.replace(alone, halves=None)
    assert r"\pm" not in latex_table(alone).split("midrule")[1]
    assert "One k-means seed, so no spread is known" in latex_table(alone)
    assert "One k-means seed" in markdown_table(alone)
    assert "from one k-means seed" in methods_paragraph(alone)


def test_names_do_nothing_in_latex() -> None:
    escaped = latex_escaped(HOSTILE)
    assert escaped == (
        r"50\%\_of \{\$x\$\} \textbackslash{}input\{/etc/passwd\} \#1 \& a\textasciitilde{}b\textasciicircum{}c "
        r"\textbar{} -{}-{}- \textasciigrave{}'{}' \textless{}b\textgreater{}"
    )
    table = latex_table(renamed(comparison(), HOSTILE))
    assert escaped in table
    assert r"\input{" not in table
    assert {len(row) for row in rows_of(table)} == {8}


@pytest.mark.parametrize("name", ["a\nb", "a\u202eb", "a\x00b", "a\u2028b"])
def test_a_name_stays_on_its_line(name: str) -> None:
    plain = len(markdown_table(comparison()).splitlines())
    assert len(markdown_table(renamed(comparison(), name)).splitlines()) == plain
    assert "\u202e" not in latex_escaped(name)


def test_names_do_nothing_in_markdown() -> None:
    table = markdown_table(renamed(comparison(), "a|b *c* [d](http://e) <f> `g`"))
    line = table.splitlines()[2]
    assert r"a\|b \*c\* \[d\](http\:\/\/e) \<f\> \`g\`" in line
    assert len(re.findall(r"(?<!\\)\|", line)) == 10
    assert markdown_escaped("nucleus p=0,9") == "nucleus p=0,9"


def test_the_note_has_the_settings() -> None:
    config = CompareConfig(
        encoder=EncoderConfig("a_b"), score=ScoreConfig(seeds=2, bootstrap=123, scale=3, confidence=0.9)
    )
    found = dataclasses.replace(comparison(), config=config)
    latex, markdown = latex_table(found, "joint", "laplace"), markdown_table(found, "joint", "laplace")
    for text in (latex, markdown):
        for said in (
            "over 2 k-means seeds",
            "123 resamples",
            "scaling constant 3",
            "Joint partition",
            "laplace smoothing",
        ):
            assert said in text
        assert "eiling" not in text  # joint clusters would be too many for them
    assert r"90\% bootstrap" in latex
    assert r"a\_b" in latex
    assert "90% bootstrap" in markdown


def test_the_paragraph_is_filled_in_from_the_run() -> None:
    encoder = EncoderConfig("gpt2-large", max_tokens=300, layer=-2, pooling="mean", with_prompt=True, revision="abc")
    score = ScoreConfig(seeds=2, restarts=5, explained_variance=0.8, scale=4, bootstrap=250, confidence=0.9)
    found = dataclasses.replace(comparison(), config=CompareConfig(encoder=encoder, score=score))
    text = methods_paragraph(found)
    for said in (
        "two candidates (grün & <b> and b; 5 to 6 texts each) with 7 human texts",
        "gpt2-large at revision abc (hidden layer -2, the mean over tokens, float32)",
        "reading prompt and text up to 300 tokens",
        "80% of the variance",
        "k = 3; k-means++, five starts per seed, at most 500 iterations, 2 k-means seeds",
        "separately for each candidate",
        "c = 4, without smoothing",
        "90% bootstrap intervals over texts (250 resamples",
        "(3 texts per side, k = 2) has a MAUVE of 0.600 ± 0.010",
    ):
        assert said in text
    assert "Features were scaled to unit length, reduced to the principal components that keep 80% of" in text
    after = dataclasses.replace(score, unit_rows="after")
    other = methods_paragraph(dataclasses.replace(found, config=CompareConfig(encoder=encoder, score=after)))
    assert "reduced to the principal components that keep 80% of the variance, scaled to unit length, and" in other
    joint = methods_paragraph(found, "joint", "laplace")
    assert "once for the human texts and all candidates together" in joint
    assert "with laplace smoothing" in joint
    assert "ceiling" not in joint
    assert "\n" not in text
