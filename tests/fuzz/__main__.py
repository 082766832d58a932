"""Change inputs of every kind at random, read them, and report what went wrong.

    python -m tests.fuzz --minutes 60 [--target NAME] [--seed SEED] [--keep FOLDER]
    python -m tests.fuzz --target NAME --case NUMBER

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
    parser.add_argument("--keep", type=Path, help="folder for what went wrong; default: a new one")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=options.keep))
    fuzzing = Fuzzing(options.target or list(TARGETS), options.seed, folder)
    if options.case is not None:
        cases = iter([fuzzing.case(name, options.case) for name in fuzzing.names])
    else:
        cases = fuzzing.cases(60 * options.minutes)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for case in cases:
        tallies[TARGETS[case.target].kind].count(case.outcome)
        if case.outcome.wrong or options.case is not None:
            sys.stdout.write(f"{in_words(case)}\n{case.outcome.answer}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\nWhat went wrong lies in {folder / 'found'}.\n\n{table(tallies)}")
    return int(any(tally.wrong for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
