"""The leaderboard as a LaTeX (booktabs) or Markdown table for a paper, with a note on how it was made.

Names come from files, so LaTeX and Markdown markup in them is escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from mauve_core.base.config import SCORES, PartitionKind
from mauve_core.base.formatting import SCORE_DECIMALS, as_formula, printable, with_plain_spaces, with_spread, written
from mauve_core.encoders.catalogue import with_weights
from mauve_core.figures.leaderboard import leaderboard_frame, score_of_row, texts_of_row
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import (
    HIGHER_IS_CLOSER,
    TITLES,
    pairing_sentence,
    places_sentence,
    rank_label,
    reference_sentences,
    spread_sentence,
    texts_interval,
)

# A row of the leaderboard's numbers.
_Row = Mapping[Any, Any]

# Packages that the LaTeX table needs.
PREAMBLE = (r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs}")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    **{character: f"\\{character}" for character in "&%$#_"},
}
# Non-ASCII characters that every pdfLaTeX font has; most others stop it.
_TYPESET = frozenset(map(chr, range(0xA1, 0x180))) - frozenset("ĦħĸĿŀŉŦŧſ") | frozenset("–—‘’‚“”„…€†‡•‹›™")

# Characters that TeX would join with the one before.
_LIGATURE = re.compile(r"(?<=-)-|(?<=')'|(?<=,),")

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!:@/+.])")


def latex_table(comparison: Comparison, kind: PartitionKind = "pairwise", smoothing: str = "none") -> str:
    """The leaderboard as a LaTeX ``table``, after ``PREAMBLE``; ``smoothing``, for the note, is that of the scores."""
    frame = leaderboard_frame(comparison, kind)
    arrows = {True: r"$\uparrow$", False: r"$\downarrow$"}
    upper = [TITLES[score].rpartition(" ")[0] for score in SCORES]
    lower = [f"{TITLES[score].rpartition(' ')[2]} {arrows[HIGHER_IS_CLOSER[score]]}" for score in SCORES]
    rows = []
    for row in frame.to_dict("records"):
        repeated = row.get("generations", 1) > 1
        means = [as_formula(_score(row, score)) + (_latex_small("(seeds)") if repeated else "") for score in SCORES]
        low_high = [rf"{{\scriptsize {as_formula(_bracket(row, score))}}}" for score in SCORES]
        cells = [_latex_rank(row), latex_escaped(str(row["candidate"])), *means, _latex_texts(row), f"{row['k']:d}"]
        rows.append(" & ".join(cells) + r" \\")
        if repeated:
            spreads = [_latex_generations(row, score) for score in SCORES]
            rows.append(" & ".join(["", "", *spreads, "", ""]).strip() + r" \\")
        rows.append(" & ".join(["", _latex_letters(row), *low_high, "", ""]).strip() + r" \\")
    lines = [
        f"% needs {' and '.join(PREAMBLE)}",
        r"\begin{table}[t]",
        r"  \centering",
        rf"  \caption{{Distance of each candidate from the {comparison.words.reference_items}. "
        + _note(comparison, kind, smoothing, latex=True)
        + "}",
        r"  \footnotesize",
        r"  \setlength{\tabcolsep}{2pt}\medmuskip=1mu",
        r"  \begin{tabular}{@{}rl" + "c" * len(SCORES) + "rr@{}}",
        r"    \toprule",
        "    " + " & ".join(["", "", *upper, "", ""]).strip() + r" \\",
        "    " + " & ".join([r"\#", "Candidate", *lower, "$n$", "$k$"]) + r" \\",
        r"    \midrule",
        *(f"    {row}" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def markdown_table(comparison: Comparison, kind: PartitionKind = "pairwise", smoothing: str = "none") -> str:
    """The leaderboard as a GitHub Markdown table with the same note; parameters as in :func:`latex_table`."""
    frame = leaderboard_frame(comparison, kind)
    lettered = bool(frame["letters"].any())
    letters, left = (["Letters"], [":--"]) if lettered else ([], [])
    heads = ["Rank", *letters, "Candidate", *(_markdown_title(score) for score in SCORES), "n", "k"]
    lines = [_markdown_row(heads), _markdown_row(["--:", *left, ":--", *(":-:" for _ in SCORES), "--:", "--:"])]
    for row in frame.to_dict("records"):
        rank = rank_label(int(row["rank"]), bool(row["tied"]))
        cells = [rank, *([row["letters"]] if lettered else []), markdown_escaped(str(row["candidate"]))]
        cells += [_markdown_score(row, score) for score in SCORES]
        lines.append(_markdown_row([*cells, texts_of_row(row).replace(",", ""), str(row["k"])]))
    return "\n".join([*lines, "", _note(comparison, kind, smoothing, latex=False)]) + "\n"


def latex_escaped(text: str) -> str:
    """``text`` on one line with LaTeX markup escaped; unprintable characters become codes such as ``U+65E5``."""
    line = unicodedata.normalize("NFC", printable(" ".join(text.split())))
    return _LIGATURE.sub(r"{}\g<0>", "".join(map(_latex_character, line)))


def markdown_escaped(text: str) -> str:
    """``text`` on one line with Markdown markup escaped."""
    return _MARKDOWN.sub(r"\\\1", printable(" ".join(text.split())))


def _latex_character(character: str) -> str:
    if character.isascii() or character in _TYPESET:
        return _LATEX.get(character, character)
    return f"U+{ord(character):04X}"


def _note(comparison: Comparison, kind: PartitionKind, smoothing: str, *, latex: bool) -> str:
    config, score = comparison.config, comparison.config.score
    safe: Callable[[str], str] = latex_escaped if latex else markdown_escaped
    pm = r"$\pm$" if latex else "±"
    spread = "One k-means seed, so no spread is known"
    if score.seeds > 1:
        spread = f"Mean {pm} standard deviation over {score.seeds} k-means seeds"
    if any(source.generations > 1 for source in comparison.sources):
        sentence = spread_sentence(comparison).replace("±", pm)
        spread = f"{sentence[0].upper()}{sentence[1:]}"
    encoder = f"features of {safe(with_weights(config.encoder.model))}" if config.encoder else safe(config.made_by)
    star = safe(TITLES["mauve_star"])
    halves = f" {safe(reference_sentences(comparison))}" if kind == "pairwise" and comparison.halves is not None else ""
    told, words = (pairing_sentence(comparison), places_sentence(comparison)), comparison.words
    return (
        f"{spread}; in brackets, the {safe(texts_interval(score.confidence, words.items))} "
        f"({score.bootstrap} resamples). "
        f"{safe(' '.join(filter(None, told)))} {kind.capitalize()} partition, {encoder}, "
        f"{comparison.human.n} {words.reference_items}, scaling constant {score.scale:g}, {_smoothed(smoothing)}; "
        f"{star} has Krichevsky-Trofimov smoothing.{halves}"
    )


def _smoothed(smoothing: str) -> str:
    return "no smoothing" if smoothing == "none" else f"{smoothing} smoothing"


def _latex_small(text: str) -> str:
    return rf" {{\scriptsize {text}}}"


def _latex_generations(row: _Row, score: str) -> str:
    sd, count = row[f"{score}_generations_sd"], int(row["generations"])
    return rf"{{\scriptsize $\pm {written(sd, SCORE_DECIMALS)}$ ({count} generations)}}"


def _latex_texts(row: _Row) -> str:
    generations = int(row.get("generations", 1))
    return rf"${row['n']:d} \times {generations:d}$" if generations > 1 else f"{row['n']:d}"


def _latex_rank(row: _Row) -> str:
    if row["rank"] == 0:
        return "--"
    return f"{row['rank']}{'$=$' if row['tied'] else ''}"


def _latex_letters(row: _Row) -> str:
    """Letters, for the line below the name, where they take no width."""
    return rf"{{\scriptsize {row['letters']}}}" if row["letters"] else ""


def _markdown_title(score: str) -> str:
    return f"{markdown_escaped(TITLES[score])} {'↑' if HIGHER_IS_CLOSER[score] else '↓'}"


def _markdown_score(row: _Row, score: str) -> str:
    bracket = _bracket(row, score).replace("[", r"\[").replace("]", r"\]")
    return with_plain_spaces(f"{score_of_row(row, score)} {bracket}")


def _score(row: _Row, score: str) -> str:
    return with_spread(row[score], row[f"{score}_sd"], SCORE_DECIMALS)


def _bracket(row: _Row, score: str) -> str:
    low, high = (written(row[f"{score}_{end}"], SCORE_DECIMALS) for end in ("low", "high"))
    return f"[{low}, {high}]"


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
