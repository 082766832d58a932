"""A stored run as one HTML file that needs no network or server and runs no script from its texts.

The file holds Plotly's script, the figures as JSON, and escaped text. Its content security policy lists the digests
of its two scripts, so the browser refuses all other scripts and all requests. The map is SVG with fewer points,
because WebGL would compile functions from strings. Figures are drawn when they scroll into view.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mauve_core.analyses.attached_results import verdict
from mauve_core.base.errors import InputError
from mauve_core.figures.draw import figures_json, plotly_script
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_styles
from mauve_core.findings.sentences import Name
from mauve_core.reporting.attached_sections import ATTACHED, attached_section
from mauve_core.reporting.blocks import Remarks, Section, charts_of
from mauve_core.reporting.cluster_section import clusters_section, diversity_section, findings_section
from mauve_core.reporting.score_sections import (
    citing_section,
    frontier_section,
    leaderboard_section,
    making_section,
    map_section,
    preflight_section,
    trust_section,
)
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import standings

# Default number of candidates in the cluster section; every other section has all candidates.
MOST_CANDIDATES = 12

_OF_COMPARISON: Mapping[str, Callable[[Comparison], Section | None]] = {
    "trust": trust_section,
    "leaderboard": leaderboard_section,
    "frontier": frontier_section,
    "map": map_section,
    "making": making_section,
    "citing": citing_section,
}

# Sections that say something of texts alone.
OF_TEXTS = ("format",)

# Keys of the sections, in their order.
SECTIONS = (
    "findings",
    "trust",
    "format",
    "leaderboard",
    "frontier",
    "clusters",
    "map",
    *ATTACHED,
    "variety",
    "making",
    "citing",
)

_NO_RESULTS = "This run has no results of this kind yet."
_PAGE = Path(__file__).parent / "page"


def html_report(
    run: Run,
    candidates: Sequence[str] = (),
    *,
    sections: Sequence[str] = (),
    cluster: int | None = None,
    made: datetime | None = None,
) -> bytes:
    """Write the report of a run, or some of its sections.

    Parameters
    ----------
    candidates : sequence of str
        Candidates in the cluster section; if empty, the closest to the human texts by MAUVE, best first, at most
        ``MOST_CANDIDATES``.
    sections : sequence of str
        Keys of the sections to write (``SECTIONS``); if empty, all that the run has results for. One
        that is asked for without results says so.
    cluster : int, optional
        A cluster of the first candidate's pairwise partition under its median seed, whose texts open the section.
    made : datetime, optional
        Date on the report; default now.

    Returns
    -------
    bytes
        HTML in UTF-8, about 5 MB, mostly Plotly's script.

    Raises
    ------
    InputError
        A candidate does not exist or is named twice, or there is no section of that key.
    """
    written = _sections(run, _shown(run, candidates), sections, cluster)
    charts = [chart for section in written for chart in charts_of(section.blocks)]
    scripts = [plotly_script(), (_PAGE / "report.js").read_text(encoding="utf-8")]
    environment = Environment(
        loader=FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html").render(
        run=run,
        subject=_subject(run.comparison),
        verdict=_verdict(run, [section.key for section in written]),
        made=_date(made or datetime.now(UTC)),
        created=_date(datetime.fromisoformat(run.created)),
        version=dict(run.comparison.environment.get("versions") or {}).get("mauve-lens", ""),
        sections=written,
        policy=_policy(scripts),
        style=Markup((_PAGE / "report.css").read_text(encoding="utf-8") + _of_sides(run)),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(figures_json({chart.key: chart.figure for chart in charts})),
    )
    return page.encode("utf-8", errors="replace")


def _subject(comparison: Comparison) -> str:
    """Who is compared with whom."""
    names = [candidate.name for candidate in comparison.candidates]
    who = names[0] if len(names) == 1 else f"{len(names)} candidates"
    return f"{who} against {comparison.words.reference_items}"


def _of_sides(run: Run) -> str:
    """Rules for the colors of the sides of a cluster, because no element has a style of its own."""
    names = [candidate.name for candidate in run.comparison.candidates]
    found = dict.fromkeys([HUMAN_COLOUR, *(style.colour for style in candidate_styles(names).values())])
    return "".join(f".of-{colour[1:]} {{ --side: {colour}; }}\n" for colour in found)


def _verdict(run: Run, sections: Sequence[str]) -> list[tuple[list[tuple[str, bool]], bool]]:
    """Each sentence in parts that are a name or not, and whether the section on formats has more about it."""
    said = verdict(run)
    return [
        ([(part, isinstance(part, Name)) for part in each.parts], each is said.format and "format" in sections)
        for each in said.sentences
    ]


def _shown(run: Run, candidates: Sequence[str]) -> list[str]:
    if len(set(candidates)) < len(candidates):
        raise InputError("A candidate is named twice", received=", ".join(candidates))
    if candidates:
        return [run.comparison.candidate(name).name for name in candidates]
    return [standing.candidate.name for standing in standings(run.comparison)][:MOST_CANDIDATES]


def _sections(run: Run, shown: Sequence[str], asked: Sequence[str], cluster: int | None) -> list[Section]:
    for key in asked:
        if key not in SECTIONS:
            raise InputError("The report has no such section", allowed=", ".join(SECTIONS), received=key)
    if asked:
        return [_section(run, shown, key, cluster) or _empty(key) for key in SECTIONS if key in asked]
    found = [_section(run, shown, key, cluster) for key in SECTIONS]
    return [section for section in found if section is not None]


def _section(run: Run, shown: Sequence[str], key: str, cluster: int | None) -> Section | None:
    if key in OF_TEXTS and not run.comparison.has_words:
        return None
    if key in ATTACHED:
        return attached_section(run, key)
    if key == "clusters":
        return clusters_section(run, shown, len(run.comparison.candidates) - len(shown), cluster)
    if key == "findings":
        return findings_section(run, shown)
    if key == "format":
        return preflight_section(run)
    if key == "variety":
        return diversity_section(run)
    return _OF_COMPARISON[key](run.comparison)


def _empty(key: str) -> Section:
    title = ATTACHED[key][0] if key in ATTACHED else key.capitalize()
    return Section(key, title, (Remarks((_NO_RESULTS,)),))


def _date(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _policy(scripts: Sequence[str]) -> str:
    """Allow scripts by digest and no requests; images for Plotly's camera button, styles for its figures."""
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
