"""For a paper: the leaderboard as a LaTeX (booktabs) or Markdown table, and a methods paragraph with its references.

Names come from files, so LaTeX and Markdown markup in them is escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from mauve_core.base.config import PartitionKind, names_server, parse_server_name
from mauve_core.base.formatting import (
    SCORE_DECIMALS,
    as_formula,
    as_percent,
    printable,
    with_plain_spaces,
    with_spread,
    written,
)
from mauve_core.encoders.catalogue import names_word_vectors, weights_of, with_weights
from mauve_core.figures.leaderboard import leaderboard_frame, score_of_row, texts_of_row, titled
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import (
    length_in_words,
    mean_and_spread,
    pairing_in_words,
    pairing_sentence,
    places_sentence,
    pooling_in_words,
    rank_label,
    reference_sentences,
    spread_sentence,
    tests_sentence,
    texts_interval,
)
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES
from mauve_core.texts.normalizing_steps import STEPS, name_of, number_of

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
    frame, names = leaderboard_frame(comparison, kind), comparison.score_names
    arrows = {True: r"$\uparrow$", False: r"$\downarrow$"}
    upper = [SCORES[score].title.rpartition(" ")[0] for score in names]
    lower = [f"{SCORES[score].title.rpartition(' ')[2]} {arrows[SCORES[score].higher_is_closer]}" for score in names]
    rows = []
    for row in frame.to_dict("records"):
        repeated = row.get("generations", 1) > 1
        means = [as_formula(_score(row, score)) + (_latex_small("(seeds)") if repeated else "") for score in names]
        low_high = [rf"{{\scriptsize {as_formula(_bracket(row, score))}}}" for score in names]
        cells = [_latex_rank(row), latex_escaped(str(row["candidate"])), *means, _latex_texts(row), f"{row['k']:d}"]
        rows.append(" & ".join(cells) + r" \\")
        if repeated:
            spreads = [_latex_generations(row, score) for score in names]
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
        r"  \begin{tabular}{@{}rl" + "c" * len(names) + "rr@{}}",
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
    frame, names = leaderboard_frame(comparison, kind), comparison.score_names
    lettered = bool(frame["letters"].any())
    letters, left = (["Letters"], [":--"]) if lettered else ([], [])
    heads = ["Rank", *letters, "Candidate", *(markdown_escaped(titled(score)) for score in names), "n", "k"]
    lines = [_markdown_row(heads), _markdown_row(["--:", *left, ":--", *(":-:" for _ in names), "--:", "--:"])]
    for row in frame.to_dict("records"):
        rank = rank_label(int(row["rank"]), bool(row["tied"]))
        cells = [rank, *([row["letters"]] if lettered else []), markdown_escaped(str(row["candidate"]))]
        cells += [_markdown_score(row, score) for score in names]
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
    star = safe(SCORES["mauve_star"].title)
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


BIBTEX = """\
@inproceedings{pillutla2021mauve,
  title     = {{MAUVE}: Measuring the Gap Between Neural Text and Human Text using Divergence Frontiers},
  author    = {Pillutla, Krishna and Swayamdipta, Swabha and Zellers, Rowan and Thickstun, John and Welleck, Sean
               and Choi, Yejin and Harchaoui, Zaid},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {34},
  year      = {2021}
}

@article{pillutla2023mauve,
  title   = {{MAUVE} Scores for Generative Models: Theory and Practice},
  author  = {Pillutla, Krishna and Liu, Lang and Thickstun, John and Welleck, Sean and Swayamdipta, Swabha
             and Zellers, Rowan and Oh, Sewoong and Choi, Yejin and Harchaoui, Zaid},
  journal = {Journal of Machine Learning Research},
  volume  = {24},
  year    = {2023}
}

@inproceedings{pimentel2023usefulness,
  title     = {On the Usefulness of Embeddings, Clusters and Strings for Text Generator Evaluation},
  author    = {Pimentel, Tiago and Meister, Clara and Cotterell, Ryan},
  booktitle = {International Conference on Learning Representations},
  year      = {2023}
}
"""

_SPELT = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def methods_paragraph(comparison: Comparison, kind: PartitionKind = "pairwise", smoothing: str = "none") -> str:
    """Describe what was compared and how, as running text.

    Parameters
    ----------
    kind : {"pairwise", "joint"}
        The partition whose scores are reported.
    smoothing : str
        The smoothing that scored ``comparison``.

    Returns
    -------
    str
        One paragraph from the comparison alone; unknown settings are left out.
    """
    version = dict(comparison.environment.get("versions") or {}).get("mauve-lens", "")
    sentences = [
        _compared(comparison),
        _normalized(comparison),
        _features(comparison),
        _clusters(comparison, kind),
        _scores(comparison, smoothing),
        _spread(comparison),
        _ranks(comparison),
        _halves(comparison, kind),
        f"Computed with MAUVE Lens{f' {version}' if version else ''}.",
    ]
    return " ".join(filter(None, sentences))


def methods_text(comparison: Comparison, kind: PartitionKind = "pairwise", smoothing: str = "none") -> str:
    """The paragraph, followed by BibTeX of the papers that it cites."""
    return f"{methods_paragraph(comparison, kind, smoothing)}\n\n{BIBTEX}"


def _compared(comparison: Comparison) -> str:
    names = [printable(candidate.name) for candidate in comparison.candidates]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    sizes = sorted({candidate.source.n_scored for candidate in comparison.candidates})
    each = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    a_piece = " each" if len(names) > 1 else ""
    repeated = sorted({source.generations for source in comparison.sources if source.generations > 1})
    if repeated:
        a_piece += f", in up to {repeated[-1]:,} generations"
    words = comparison.words
    return (
        f"We compared {_spelt(len(names))} {_plural('candidate', len(names))} ({listed}; {each} "
        f"{words.items}{a_piece}) with {comparison.human.n:,} {words.reference_items} by MAUVE (Pillutla et al., "
        "2021) and related divergence frontier summaries (Pillutla et al., 2023), which compare distributions over "
        f"clusters of {words.item} features "
        "(see also Pimentel et al., 2023)."
    )


def _normalized(comparison: Comparison) -> str:
    """What normalizing did, and to how many texts; empty for texts as they were read."""
    if not comparison.normalization:
        return ""
    steps = "; ".join(_step(comparison, spec) for spec in comparison.normalization)
    return f"Before encoding, the texts of every side were normalized alike: {steps}."


def _step(comparison: Comparison, spec: str) -> str:
    """One step with the number of texts that it changed, where each side recorded it once."""
    done = STEPS[name_of(spec)].done.format(n=f"{number_of(spec):,}")
    found = [[each for each in source.normalized or () if each.step == spec] for source in comparison.sources]
    if any(len(changes) != 1 for changes in found):
        return done
    human, *others = (changes[0] for changes in found)
    counts = sorted({each.count for each in others})
    number = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{done} ({human.count:,} of {human.of:,} {comparison.words.reference_items}, {number} of each candidate's)"


def _features(comparison: Comparison) -> str:
    encoder, origin = comparison.config.encoder, comparison.config.features_from
    if encoder is None and origin is not None:
        return f"Features are those of {printable(origin)}, computed beforehand."
    if encoder is None:
        return "Features were computed elsewhere and supplied."
    revision = f" at revision {printable(encoder.revision)}" if encoder.revision else ""
    what = "prompt and text" if encoder.with_prompt else "the text alone"
    reading = f"reading {what} up to {length_in_words(encoder, comparison.human)}."
    if names_server(encoder.model):
        served = parse_server_name(encoder.model)
        return (
            f"Features are embeddings of the model {printable(served.model)} from the server {printable(served.url)}, "
            f"{reading}"
        )
    pooling = pooling_in_words(encoder, comparison.human)
    if names_word_vectors(encoder.model):
        return f"Features are from {printable(encoder.model)} ({pooling}), {reading}"
    weights = f"{weights_of(encoder.model)}; " if weights_of(encoder.model) else ""
    if not comparison.has_words:
        return f"Features are from {printable(encoder.model)}{revision} ({weights}{encoder.dtype})."
    layer = "the last layer" if encoder.layer == -1 else f"hidden layer {encoder.layer}"
    return (
        f"Features are from {printable(encoder.model)}{revision} ({weights}{layer}, {pooling}, {encoder.dtype}), "
        f"{reading}"
    )


def _clusters(comparison: Comparison, kind: PartitionKind) -> str:
    score = comparison.config.score
    ks = sorted({comparison.partition(kind, candidate.name).k for candidate in comparison.candidates})
    k = f"k = {ks[0]:,}" if len(ks) == 1 else f"k = {ks[0]:,} to {ks[-1]:,}"
    human = comparison.words.reference_items
    together = {
        "pairwise": f"separately for each candidate together with the {human}",
        "joint": f"once for the {human} and all candidates together",
    }[kind]
    runs = f"{score.seeds} k-means {_plural('seed', score.seeds)}"
    components = f"the principal components that keep {as_percent(score.explained_variance)} of the variance"
    reduced = {
        "before": f"scaled to unit length, reduced to {components}",
        "after": f"reduced to {components}, scaled to unit length",
    }[score.unit_rows]
    return (
        f"Features were {reduced}, and clustered by k-means ({k}; k-means++, "
        f"{_spelt(score.restarts)} {_plural('start', score.restarts)} per seed, at most {score.max_iterations} "
        f"iterations, {runs}), {together}."
    )


def _scores(comparison: Comparison, smoothing: str) -> str:
    score = comparison.config.score
    smoothed = "without smoothing" if smoothing == "none" else f"with {smoothing} smoothing"
    return (
        f"MAUVE is the area under the divergence frontier with scaling constant c = {score.scale:g}, {smoothed}; "
        "MAUVE* is the same with Krichevsky-Trofimov smoothing; the frontier integral and the mid-point divergence "
        f"(between each side and their even mixture) are given {smoothed}."
    )


def _spread(comparison: Comparison) -> str:
    score, items = comparison.config.score, comparison.words.items
    means = "Scores are from one k-means seed, so no spread over seeds is known"
    if score.seeds > 1:
        means = f"Scores are means ± standard deviations over {score.seeds} k-means seeds"
    if any(source.generations > 1 for source in comparison.sources):
        means += (
            "; for candidates with several generations, the mean of the generations' scores is taken under each seed, "
            "and the standard deviation over generations is given beside that over seeds"
        )
    shared = pairing_in_words(comparison)
    unit = f"{comparison.prompts_by or 'prompts'} ({shared})" if shared else items
    drawn = (
        f"{unit} drawn with replacement, clusters held fixed, {items} exchanged between the two sides at the rate "
        "at which the resamples have the observed divergence on average, centered on the estimate"
    )
    return (
        f"{means}; intervals are {score.confidence:.0%} bootstrap intervals over {items} ({score.bootstrap} "
        f"resamples, {drawn}) and hold for scores at this number of {items} and clusters, not for their limit."
    )


def _ranks(comparison: Comparison) -> str:
    """How ties are decided; empty for one candidate."""
    if len(comparison.candidates) < 2:
        return ""
    found = [each for each in comparison.differences if each.score == REFERENCE_SCORE]
    told = tests_sentence(found, comparison.words)
    return f"Candidates that are not told apart from the first of their group share a rank. {told}"


def _halves(comparison: Comparison, kind: PartitionKind) -> str:
    halves = comparison.halves
    if halves is None or kind == "joint":
        return ""
    mauve = with_plain_spaces(mean_and_spread(halves.scores["mauve"]))
    words = comparison.words
    return (
        f"For reference, one random part of the {words.reference_items} against another ({halves.source.n:,} "
        f"{words.items} per side, "
        f"k = {halves.partitions[0].k:,}) has a MAUVE of {mauve}."
    )


def _spelt(number: int) -> str:
    return _SPELT[number] if number < len(_SPELT) else f"{number:,}"


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"
