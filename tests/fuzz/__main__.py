"""Change inputs of every kind at random, read them, and report what went wrong.

    python -m tests.fuzz --minutes 60 [--target NAME] [--seed SEED] [--keep FOLDER]
    python -m tests.fuzz --target NAME --case NUMBER
    python -m tests.fuzz --table --out benchmarks/results/fuzzing.md

Exit code 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tests.fuzz.fuzzing import Fuzzing, Tally, in_words
from tests.fuzz.oracle import MEGABYTES, SECONDS
from tests.fuzz.targets import TARGETS

HEAD = """\
| what was handed in | cases | refused | wrong | longest, s | most MB | longest message |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


# Inputs of each kind in the table.
COUNTS = {
    "text files": 154,
    "features": 70,
    "model folders": 99,
    "run archives": 287,
    "run folders": 60,
    "run folders by command": 218,
    "run folders by page": 60,
    "catalogue, bin": 20,
    "jobs": 30,
    "settings": 70,
    "ratings": 20,
    "commands": 120,
    "browser's messages": 60,
    "requests": 4300,
}


def table(tallies: Mapping[str, Tally]) -> str:
    """A row for each kind."""
    rows = (
        f"| {kind} | {tally.cases:,} | {tally.refused:,} | {tally.wrong} | {tally.seconds:.1f} | "
        f"{tally.megabytes:.0f} | {tally.longest} |\n"
        for kind, tally in tallies.items()
    )
    return f"At most {SECONDS} s and {MEGABYTES} MB a case.\n\n{HEAD}{''.join(rows)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--target", choices=list(TARGETS), action="append", help="default: all")
    parser.add_argument("--seed", default=datetime.now(UTC).strftime("%Y%m%d%H%M%S"), help="default: the time")
    parser.add_argument("--case", metavar="NUMBER", help="only this case")
    parser.add_argument("--table", action="store_true", help="as many inputs of each kind as its count, however long")
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    parser.add_argument("--keep", type=Path, help="folder for what went wrong; default: a new one")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=options.keep))
    fuzzing = Fuzzing(options.target or list(TARGETS), options.seed, folder)
    if options.case is not None:
        cases = iter([fuzzing.case(name, options.case) for name in fuzzing.names])
    elif options.table:
        cases = fuzzing.at_least(COUNTS)
    else:
        cases = fuzzing.cases(60 * options.minutes)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for case in cases:
        target = TARGETS[case.target]
        tallies[target.kind].count(case.outcome, target.inputs)
        if case.outcome.wrong or options.case is not None:
            sys.stdout.write(f"{in_words(case)}\n{case.outcome.answer}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\nWhat went wrong lies in {folder / 'found'}.\n\n{table(tallies)}")
    if options.out is not None:
        how = "--table" if options.table else f"--minutes {options.minutes:g}"
        head = f"# Inputs changed at random\n\n`python -m tests.fuzz {how} --seed {options.seed}`\n\n"
        options.out.write_text(head + table(tallies))
    return int(any(tally.wrong for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
