"""The planted differences of planted_findings.py by scattertext and BERTopic's class-based TF-IDF, beside ours.

    python benchmarks/findings_peers.py --python VENV/bin/python [--splits 40] [--out FILE.md]

VENV has scattertext and bertopic; the latter's other packages are not needed. A peer has found a difference if one of
its ten terms of the right side names it: each difference that words can name has a pattern, which is generous to them.
False are splits without a planted difference for which terms are listed as different nevertheless.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import planted_findings as ours

from mauve_core.base.files import write_atomically

# The side whose terms name a difference, and a word of them; other differences have no word.
NAMED_BY = {
    "articles dropped": ("human", "a|an|the"),
    "second person": ("model", "you"),
    "closing sentence": ("model", "hope|helps"),
    "British spelling": ("model", r"\w+our\w*|\w+is(?:e|ed|es|ing|ations?)|\w+[tn]res?"),
    "fewer numbers": ("human", r"\d+"),
    "hedges": ("model", "perhaps"),
    "questions": ("model", "why"),
    "exclamations": ("model", "!"),
    "emoji": ("model", "\U0001f600"),
    "first person": ("model", "i"),
    "apologies": ("model", "sorry"),
    "headings": ("model", "#|overview"),
    "no parentheses": ("human", r"\(|\)"),
    "no commas": ("human", ","),
    "links": ("model", "www|example|org"),
}


def pairs(splits: int) -> list[tuple[ours.Planted | None, list[str], list[str], int]]:
    """The draws of planted_findings.py, those without a difference last, with the seeds of their splits."""
    pool = [each.text for each in ours.paragraphs(ours.LEAST_WORDS) if len(ours.sentences(each.text)) > 1]
    found: list[tuple[ours.Planted | None, list[str], list[str], int]] = []
    for dose in ours.DOSES:
        for index, planting in enumerate(ours.PLANTED):
            rng = np.random.default_rng([index, int(100 * dose)])
            human, model = ours.drawn(pool, rng)
            found.append((planting, human, ours.planted(model, planting, dose, rng), index))
    for split in range(splits):
        found.append((None, *ours.drawn(pool, np.random.default_rng([split, 1])), split))
    return found


def is_named(planting: ours.Planted, answer: dict[str, Any]) -> bool:
    side, word = NAMED_BY.get(planting.name, ("model", "(?!)"))
    return any(re.fullmatch(word, part) for term in answer[side] for part in term.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="the Python that has the peers")
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--out", type=Path, help="also write the page there")
    options = parser.parse_args()
    drawn = pairs(options.splits)
    lines = "\n".join(json.dumps({"human": human, "model": model}) for _, human, model, _ in drawn)
    program = Path(__file__).parent / "findings_peer_terms.py"
    told = subprocess.run([options.python, program], input=lines, capture_output=True, text=True, check=True).stdout
    answers = [json.loads(line) for line in told.splitlines()]
    count = len(ours.PLANTED)
    rows = []
    for peer in answers[0]:
        each = [answer[peer] for answer in answers]
        named = [
            planting is not None and is_named(planting, one) for (planting, *_), one in zip(drawn, each, strict=True)
        ]
        false = sum(bool(one["model"] or one["human"]) for one in each[2 * count :])
        seconds = float(np.median([one["seconds"] for one in each]))
        rows.append((peer, sum(named[:count]), sum(named[count : 2 * count]), false, seconds))
    own_found, own_false, own_seconds = [], 0, []
    for planting, human, model, seed in drawn:
        started = time.process_time()
        found = ours.found_between(human, model, seed)
        own_seconds.append(time.process_time() - started)
        if planting is None:
            own_false += bool(found)
        else:
            own_found.append(any(planting.is_named_by(one) for each in found for one in (each, *each.also)))
    rows.append(("ours", sum(own_found[:count]), sum(own_found[count:]), own_false, float(np.median(own_seconds))))
    table = "\n".join(
        f"| {peer} | {first} of {count} | {second} of {count} | {false} of {options.splits} | {seconds:.1f} |"
        for peer, first, second, false, seconds in rows
    )
    page = f"""# Findings beside other tools

    python benchmarks/findings_peers.py --python VENV/bin/python --splits {options.splits}

The differences of [planted_findings.md](planted_findings.md). {len(NAMED_BY)} of {count} can be named by a word or
mark, the others (typos, lists, lengths, letter case, white space, ends) cannot. HypotheSAEs is left out: it needs a
language model to word what it finds.

| tool | found in all texts | in {ours.DOSES[1]:.0%} of them | splits without a difference that list terms | CPU s |
| --- | --- | --- | --- | --- |
{table}

Class-based TF-IDF has no test, so it lists terms for any two sides.

Python {platform.python_version()}, numpy {np.__version__}.
"""
    print(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
