"""``mauve-lens probe``: measure how a stored run's score responds to deliberate changes of texts or images."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mauve_core.base.config import HUMAN, KINDS, POSITION_PROBES, PROBE_SPLITS
from mauve_core.base.formatting import NONE, as_percent, printable, significant, with_plain_spaces
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.cli.options import add_device_option, add_output_options, of_run, show_result
from mauve_core.scoring.tables import aligned
from mauve_core.texts.kinds import Kind, kind_of
from mauve_core.texts.perturbations import usage

if TYPE_CHECKING:
    from mauve_core.analyses.probe_results import ProbeTable

_TITLES = {
    "forward-kl": "KL(P|Q)",
    "backward-kl": "KL(Q|P)",
    "exponentiated-kl": "exp KL",
    "jensen-shannon": "JS",
    "auc": "AUC",
    "mauve": "MAUVE",
}


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    probed = [kind for kind in map(kind_of, reversed(KINDS)) if kind.probes]
    parser = commands.add_parser(
        "probe",
        description="Half of a source's texts or images are perturbed and compared with the rest. "
        + " ".join(_usages(kind) for kind in probed).replace("%", "%%"),
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument(
        "--perturbation",
        action="append",
        default=[],
        metavar="SPEC",
        help="one or more, such as typos:rate=0.1, drop-articles@0.5 or blur-2; default: "
        + "; ".join(f"of {kind.words.items}, {', '.join(kind.probes)}" for kind in probed),
    )
    parser.add_argument(
        "--positions",
        action="store_true",
        help=f"also {' and '.join(POSITION_PROBES)}: which part of a text the encoder reads; alone: only these",
    )
    parser.add_argument("--source", default=HUMAN, help=f"source of the items; default: {HUMAN}")
    parser.add_argument(
        "--splits", type=int, default=PROBE_SPLITS, metavar="N", help=f"splits into halves; default: {PROBE_SPLITS}"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="k-means seeds per split; default: as in the run")
    add_device_option(parser)
    add_output_options(parser, table=True)
    parser.set_defaults(run=of_run(_probe))


def _usages(kind: Kind) -> str:
    usages = "; ".join(usage(each) for each in kind.perturbations.values() if not each.is_control)
    return f"A perturbation of {kind.words.items} is one of: {usages}."


def _probe(args: argparse.Namespace) -> int:
    from mauve_core.analyses.probes import ProbeTask

    positions = [*POSITION_PROBES] if args.positions else []
    specs = tuple(dict.fromkeys([*args.perturbation, *positions])) or None
    task = ProbeTask(args.id, specs, args.source, None, args.splits, args.seeds, args.device)
    return show_result(args, "probe", task, table, _notes, "The cluster of every item before and after", _derived)


def _derived(found: ProbeTable) -> dict[str, Any]:
    from mauve_core.analyses.probe_results import detections, summary

    return {
        "summary": summary(found),
        "detections": [
            {**dataclass_to_json(each), "sentence": with_plain_spaces(each.sentence)} for each in detections(found)
        ],
    }


def _notes(found: ProbeTable) -> list[str]:
    return [*found.notes, *(f"{line.name}: {note}" for line in found.lines for note in line.notes)]


def table(found: ProbeTable) -> str:
    """What MAUVE detects, in words; then one row per line: shares of changed and moved texts, and each measure."""
    from mauve_core.analyses.positions import positions_sentence
    from mauve_core.analyses.probe_results import PROBE_SCORES, about_test, detections, summary
    from mauve_core.figures.probes import ABOUT_LEADERBOARD, spread_label

    rows = [["Comparison half", "changed", "moved", *(_TITLES[measure] for measure in PROBE_SCORES), "detectable"]]
    for line in found.lines:
        moved = NONE if line.flow is None else as_percent(len(line.flow.moved) / len(line.flow.ids))
        changed = NONE if line.kind == "source" else as_percent(line.changed)
        cells = [spread_label(line.scores[measure]) for measure in PROBE_SCORES]
        drop = NONE if line.detectable is None else significant(line.detectable)
        rows.append([printable(line.name), changed, moved, *cells, drop])
    first, positions = found.lines[0], positions_sentence(found)
    items = found.words.items
    words = (summary(found), *(f"  {each.sentence}" for each in detections(found)), about_test(found), "")
    answer = "".join(f"{printable(with_plain_spaces(text))}\n" for text in words) if words[0] else ""
    return (
        f"{answer}{aligned(rows)}\n\n"
        f"Against an untouched half of {printable(found.words.source(found.source))}: n = {first.n:,}, k = {first.k}. "
        "Mean \u00b1 standard deviation over splits and seeds; none is the noise floor. MAUVE: larger is closer; all "
        f"others: smaller. Changed: {items} that differ. Moved: {items} that changed cluster in the run. "
        "Detectable: drop of MAUVE.\n"
        f"{ABOUT_LEADERBOARD}" + (f"\n{positions}" if positions else "")
    )
