"""``mauve-lens diversity``: how different a candidate's answers to one prompt are, and whether candidates agree."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterable, Sequence

from mauve_core.base.formatting import NONE, as_percent, interval, printable, with_plain_spaces, written
from mauve_core.cli.diversity_output import diversity_json, never_reached
from mauve_core.cli.options import LINE, write, write_json
from mauve_core.experiments.diversity import Agreement, Diversity, RunDiversity, diversity_of_run
from mauve_core.experiments.diversity.wording import (
    DISTANCE_DECIMALS,
    agreement_in_words,
    gap_sentence,
    measured_sentence,
    missed_sentence,
    sentence,
)
from mauve_core.reporting.written import markdown_escaped
from mauve_core.scoring.tables import aligned
from mauve_core.store import Run, RunStore

NAMED = 5
"""Clusters that are named; JSON has all."""

ABOUT_PAIRS = (
    "Mean cosine distance of an answer of one candidate to one of the other, to one prompt, and of two answers of the "
    "candidate with the more varied ones; their difference with its 95% interval over prompts. Last: the "
    "shares of both kinds of pairs that are of one mode."
)

Rows = Sequence[Sequence[str]]
Quote = Callable[[str], str]
"""Writes names and words of texts, which are untrusted."""


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "diversity",
        description="Where candidates have several answers to a prompt: how many modes these have, how far they are "
        "apart compared with answers to different prompts, which human clusters they do not reach, and whether two "
        "candidates say the same.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--candidate", metavar="NAME", help="default: every candidate with several answers to a prompt")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object with all clusters")
    form.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.set_defaults(run=_diversity)


def _diversity(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    found = diversity_of_run(run, args.candidate)
    if args.json:
        write_json(diversity_json(run, found), "diversity")
    elif args.markdown:
        write(_text(run, found, _escaped, _markdown_table, lambda said: said, "## "))
    else:
        write(_text(run, found, printable, lambda rows: textwrap.indent(aligned(rows), "  "), _filled, ""))
    return 0


def _text(
    run: Run, found: RunDiversity, quote: Quote, table: Callable[[Rows], str], filled: Quote, heading: str
) -> str:
    parts = []
    for name, own in found.candidates.items():
        if heading:
            parts.append(f"{heading}{quote(name)}")
        parts += [filled(sentence(quote(name), own, found.gap)), table(_rows(own))]
        parts.append("\n".join(map(filled, _below(run, name, found, quote))))
    if found.pairs:
        parts += [f"{heading}Do candidates say the same?", table(_pair_rows(found.pairs, quote)), filled(ABOUT_PAIRS)]
    if found.single:
        names = ", ".join(map(quote, found.single))
        parts.append(filled(f"One answer to a prompt, so not measured: {names}."))
    parts.append(filled(gap_sentence(found.gap)))
    return with_plain_spaces("\n\n".join(parts))


def _rows(own: Diversity) -> Rows:
    """A candidate's measures, of answers to one prompt and of as many to different ones."""
    m = own.answers
    measures = (
        ("mean cosine distance", own.distance, DISTANCE_DECIMALS),
        (f"Vendi score of {m} answers", own.vendi, 2),
        (f"clusters that {m} answers reach", own.clusters, 2),
        (f"self-BLEU of {m} answers", own.self_bleu, DISTANCE_DECIMALS),
    )
    rows = [["", "to one prompt", "to different prompts"]]
    for title, each, decimals in measures:
        if each is not None:
            between = NONE if each.between is None else written(each.between, decimals)
            rows.append([title, written(each.within, decimals), between])
    return rows


def _below(run: Run, name: str, found: RunDiversity, quote: Quote) -> Iterable[str]:
    """What is said below a candidate's table."""
    own, missed = found.candidates[name], found.missed.get(name)
    yield measured_sentence(own)
    if missed is None:
        return
    yield missed_sentence(missed)
    never = never_reached(run, missed)
    if never:
        named = "; ".join(f"{quote(each['name'])} ({each['human_texts']:,} human texts)" for each in never[:NAMED])
        more = f"; and {len(never) - NAMED:,} more" if len(never) > NAMED else ""
        yield f"Never reached: {named}{more}."


def _pair_rows(pairs: Sequence[Agreement], quote: Quote) -> Rows:
    rows = [["", "distance", "of one", "difference", "as close?", "other prompts", "one mode"]]
    for each in pairs:
        numbers = (written(value, DISTANCE_DECIMALS) for value in (each.distance, each.own))
        apart = written(each.apart, DISTANCE_DECIMALS, signed=True)
        ends = interval(each.low, each.high, DISTANCE_DECIMALS, signed=True)
        modes = NONE
        if each.one_mode is not None and each.own_one_mode is not None:
            modes = f"{as_percent(each.one_mode)}, {as_percent(each.own_one_mode)}"
        said, others = agreement_in_words(each, quote), written(each.others, DISTANCE_DECIMALS)
        rows.append([f"{quote(each.first)}, {quote(each.second)}", *numbers, f"{apart} ({ends})", said, others, modes])
    return rows


def _filled(text: str) -> str:
    return textwrap.fill(text, LINE, break_long_words=False, break_on_hyphens=False)


def _escaped(text: str) -> str:
    return markdown_escaped(printable(text))


def _markdown_table(rows: Rows) -> str:
    lines = [rows[0], ["---", *["--:"] * (len(rows[0]) - 1)], *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
