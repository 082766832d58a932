"""Report sections on the comparison: trust, formats and copies, scores, curves, map, and how the run was made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mauve_core.base.formatting import SCORE_DECIMALS, interval, significant, with_spreads
from mauve_core.figures.differences import difference_label, exchanged_label, ranked_pairs
from mauve_core.figures.frontier import (
    at_weight,
    banded_names,
    bands_in_words,
    curve_points,
    error_curves,
    frontier_figure,
)
from mauve_core.figures.leaderboard import (
    interval_figure,
    leaderboard_frame,
    like_for_like_rows,
    score_of_row,
    texts_of_row,
    titled,
)
from mauve_core.figures.text_map import PLAIN_POINTS, map_points, sampled_map
from mauve_core.findings.format_checks import COLUMNS, headline, rule_sentence, shown_rows
from mauve_core.findings.precomputed import run_preflight
from mauve_core.reporting.blocks import Chart, Remarks, Section, Table, Verbatim
from mauve_core.reporting.paper import BIBTEX, methods_paragraph
from mauve_core.runs import Run
from mauve_core.scoring import tables
from mauve_core.scoring.result import Comparison, Source
from mauve_core.scoring.tables import (
    LIKE_FOR_LIKE_NOTE,
    disagreement_sentence,
    length_in_words,
    pairing_sentence,
    places_sentence,
    pooled_sentence,
    pooling_in_words,
    rank_label,
    reference_sentences,
    spread_sentence,
    standings,
    tests_sentence,
    texts_interval,
)
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES

# Mixture weight of P wherever a report shows errors at one weight.
WEIGHT = 0.5

GENERAL_ADVICE = (
    "Scores depend on the encoder, the number and length of the {items}, and k: compare only scores made with the same "
    "settings and equal n, on 1,000 {items} per side or more.",
    "Look at the spread: candidates of the same rank are not told apart by these {items}.",
)


def trust_section(comparison: Comparison) -> Section:
    """Warnings that affect the reading of the scores."""
    blocks = [Remarks(comparison.warnings, weighty=True)] if comparison.warnings else []
    return Section("trust", "What to trust", (*blocks, Remarks(tuple(map(comparison.words.fill, GENERAL_ADVICE)))))


def leaderboard_section(comparison: Comparison) -> Section:
    """All candidates with spread, intervals and ties."""
    score, words = comparison.config.score, comparison.words
    spread = "one k-means seed, no spread known"
    if score.seeds > 1 or any(source.generations > 1 for source in comparison.sources):
        spread = spread_sentence(comparison)
    note = (
        f"Pairwise partition: {words.reference_items} clustered with one candidate at a time. "
        f"{spread[0].upper()}{spread[1:]}; "
        f"{texts_interval(score.confidence, words.items)}. "
        f"{f'{pairing_sentence(comparison)} '.lstrip()}Gray bracket: tied. {comparison.human.n:,} "
        f"{words.reference_items}, c = {score.scale:g}. {reference_sentences(comparison)}"
    )
    chart = Chart("leaderboard", interval_figure(comparison, "pairwise"), "Scores with spread and interval", note)
    return Section(
        "leaderboard",
        "Leaderboard",
        (_leaderboard_table(comparison), chart, *_like_for_like(comparison), *_tests(comparison)),
    )


def _like_for_like(comparison: Comparison) -> tuple[Table, ...]:
    """Every candidate at the size of human vs. human, folded; none without human vs. human."""
    columns, rows = like_for_like_rows(comparison)
    if not rows:
        return ()
    title, note = f"Like for like with {comparison.words.halves}", comparison.words.fill(LIKE_FOR_LIKE_NOTE)
    return (Table(title, columns, tuple(rows), note, folded=True),)


def _tests(comparison: Comparison) -> tuple[Table, ...]:
    """The tests of every two candidates, folded; none for one candidate."""
    found = ranked_pairs(comparison, REFERENCE_SCORE)
    if not found:
        return ()
    rows = tuple(
        (
            each.first,
            each.second,
            difference_label(each),
            significant(each.p_value),
            significant(each.p_adjusted),
            "yes" if each.told_apart else "no",
            exchanged_label(each, comparison.words),
        )
        for each in found
    )
    title = SCORES[REFERENCE_SCORE].title
    said = (tests_sentence(found, comparison.words), disagreement_sentence(found))
    note = " ".join(["Below each difference is its bootstrap interval, at this n and k.", *filter(None, said)])
    columns = ("Candidate", "Other", f"{title}, candidate − other", "p", "p adjusted", "told apart", "n")
    return (Table(f"{title} of every two candidates, tested", columns, rows, note, folded=True),)


def frontier_section(comparison: Comparison) -> Section:
    """The curves, and both errors at one weight, in leaderboard order."""
    words = comparison.words
    points = curve_points(error_curves(comparison, "pairwise"), comparison.config.score.scale)
    order = [standing.candidate.name for standing in standings(comparison)]
    banded = banded_names(order, order[0])
    chart = Chart(
        "frontier",
        frontier_figure(points, WEIGHT, order=order, chosen=order[0]),
        "Both errors of every candidate along the mixture",
        "Pairwise partition. Each curve plots the two errors of a candidate against each other as the mixture R goes "
        f"from the model's {words.items} to the {words.reference_items}; MAUVE is the area under it. "
        f"{bands_in_words(banded, len(order))} Marks are at a weight of {WEIGHT:g}. c = "
        f"{comparison.config.score.scale:g}.{_about_pooled(comparison)}",
        narrow=True,
    )
    errors = at_weight(points, WEIGHT, order)
    columns = (with_spreads(errors[error], errors[f"{error}_sd"]) for error in ("type_1", "type_2"))
    rows = tuple(zip(errors["candidate"].astype(str), *columns, strict=True))
    table = Table(
        f"Both errors at a weight of {WEIGHT:g}",
        ("Candidate", "Adds: type I, KL(Q|R)", "Misses: type II, KL(P|R)"),
        rows,
        "In nats, mean ± standard deviation over k-means seeds; R = λ P + (1 − λ) Q. Adds: the model has what the "
        f"{words.reference_items} lack. Misses: the {words.reference_items} have what the model lacks.",
    )
    return Section("frontier", "Divergence curves", (chart, table))


def map_section(comparison: Comparison) -> Section | None:
    """A sample of the texts on the map; None if the run has no map."""
    if comparison.projection is None:
        return None
    words = comparison.words
    points = map_points(comparison, comparison.joint[0], comparison.candidates[0].name, WEIGHT)
    figure, drawn = sampled_map(points, most=PLAIN_POINTS)  # a report has no WebGL
    total, fitted = points.source.size, comparison.map_fitted
    sample = f"{drawn:,} of {words.count(total)} shown"
    sample += ", every source in proportion, over the density of all. " if drawn < total else ". "
    if fitted is not None and fitted != total:
        sample += f"The map was fitted on {fitted:,} of them; the others are placed among their nearest of these. "
    note = (
        f"{sample}Clusters in hovers are those of the joint partition, first seed, the only ones that {words.items} of "
        "every candidate are in; their numbers are not those of the clusters above. The map is for orientation: "
        f"clusters were made in feature space, not here.{_about_pooled(comparison)}"
    )
    return Section("map", "Map", (Chart("map", figure, f"All {words.items} by source", note),))


def _lengths(source: Source) -> tuple[str, str]:
    """Tokens of a usual text, and the number of texts that the encoder cut."""
    return "unknown" if source.tokens_median is None else f"{source.tokens_median:g}", f"{source.cut:,}"


def making_section(comparison: Comparison) -> Section:
    """Texts and exclusions, empty clusters, settings and environment, to reproduce the numbers."""
    lengths = ("median tokens", "cut by the encoder") if comparison.has_words else ()
    words = comparison.words
    sources = Table(
        words.items.capitalize(),
        ("Source", "n", *lengths, "file", f"SHA-256 of ids and {words.items}"),
        tuple(
            (
                words.source(source.name),
                f"{source.n:,}",
                *(_lengths(source) if lengths else ()),
                source.file_name,
                source.digest[:16],
            )
            for source in comparison.sources
        ),
    )
    notes = tuple(
        f"{comparison.words.source(source.name)}: {note}" for source in comparison.sources for note in source.notes
    )
    excluded = notes or ("Nothing was excluded.",)
    rows = [*_flat(comparison.config.as_dict()), *_as_used(comparison)]
    settings = Table("Settings", ("Setting", "Value"), tuple(rows), folded=True)
    environment = Table("Environment", ("Item", "Value"), tuple(_flat(dict(comparison.environment))), folded=True)
    empty = Table(
        tables.EMPTY_CLUSTERS_TITLE,
        tuple(map(comparison.words.fill, tables.EMPTY_CLUSTERS_COLUMNS)),
        tuple(tables.empty_cluster_rows(comparison)),
        comparison.words.fill(tables.EMPTY_CLUSTERS_NOTE),
        folded=True,
    )
    blocks = (sources, Remarks(excluded), empty, settings, environment)
    return Section("making", f"{words.items.capitalize()}, exclusions, settings", blocks)


def citing_section(comparison: Comparison) -> Section:
    """A paragraph for a paper, and its references."""
    blocks = (
        Verbatim("Methods paragraph", methods_paragraph(comparison)),
        Verbatim("The papers in BibTeX", BIBTEX),
    )
    return Section("citing", "For a paper", blocks)


def _leaderboard_table(comparison: Comparison) -> Table:
    rows = []
    frame = leaderboard_frame(comparison, "pairwise")
    lettered = bool(frame["letters"].any())
    for row in frame.to_dict("records"):
        cells = [str(row["candidate"]), rank_label(int(row["rank"]), bool(row["tied"]))]
        cells += [row["letters"]] if lettered else []
        for score in comparison.score_names:
            mean = score_of_row(row, score)
            cells.append(f"{mean}\n{interval(row[f'{score}_low'], row[f'{score}_high'], SCORE_DECIMALS)}")
        rows.append((*cells, texts_of_row(row), f"{row['k']:,}", str(row["encoder"])))
    columns = (
        "Candidate",
        "Rank",
        *(["Letters"] if lettered else []),
        *(titled(score) for score in comparison.score_names),
        "n",
        "k",
        "Encoder",
    )
    return Table(
        "Scores of every candidate, the highest MAUVE first",
        columns,
        tuple(rows),
        f"↑ larger is closer to the {comparison.words.reference_items}, ↓ smaller is. Below each score is its "
        f"bootstrap interval. {places_sentence(comparison)}",
    )


def _about_pooled(comparison: Comparison) -> str:
    return "".join(f" {sentence}" for source in comparison.sources if (sentence := pooled_sentence(source)))


def _as_used(comparison: Comparison) -> list[tuple[str, str]]:
    """What the settings of length and pooling came to."""
    encoder = comparison.config.encoder
    if encoder is None or not comparison.has_words:
        return []
    read, pooled = length_in_words(encoder, comparison.human), pooling_in_words(encoder, comparison.human)
    return [("texts read up to", read), ("pooling as applied", pooled)]


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        else:
            yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def preflight_section(run: Run) -> Section:
    """The flagged kinds of format in a table; a sentence where there is none."""
    found, words = run_preflight(run), run.comparison.words
    remarks = (headline(found, words),)
    if not found.shown:
        return Section("format", "Format", (Remarks(remarks),))
    columns, rows = tuple(map(words.fill, COLUMNS)), tuple(shown_rows(found, words=words))
    table = Table("Differences of format", columns, rows, rule_sentence(found, words))
    return Section("format", "Format", (Remarks(remarks, weighty=True), table))
