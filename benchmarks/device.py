"""Encoding, scores, k-means, generation, the map and a whole run on one CUDA device, each beside its peers.

    python benchmarks/device.py --texts FILE --out FILE.md [--seconds 480]
    python benchmarks/device.py --texts FILE --out FILE.md --parts generation run_from_files
    python benchmarks/device.py --texts FILE --out FILE.md --toy

FILE is any file that mauve-lens compare reads. Encoding takes documents of one to five of its texts through a model of
GPT-2 large's shape (36 layers of 1,280) in each precision, beside our padded pass and mauve-text; scores and k-means
start from made-up features, beside plain lines of torch on the same device and libraries on the CPU; generation is in
GPT-2's shape (12 layers of 768), beside transformers alone; the map is beside umap-learn; a whole run starts cold. All
weights are random. What is not installed is left out with a word.

Each part runs in a process of its own, in the order of importance, and sends its rows as they come; the page is written
anew after each. A part may use its share of --seconds and what earlier parts have left; --parts runs some alone.
Whatever fails or runs out of time is a row that says so, and the next part begins. The CPU's cores take part too, so
nothing else should run.

With --toy everything is tiny and runs on the CPU, which tries this script where there is no GPU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from device_page import TABLE_OF, Row, page

# Parts in their order, and their shares of the time.
SHARES = {
    "prepare": 60,
    "encode": 105,
    "encode_padded": 40,
    "encode_mauve_text": 40,
    "scores_small": 35,
    "scores_large": 65,
    "kmeans_small": 30,
    "kmeans_large": 35,
    "generation": 70,
    "map_of_many": 50,
    "run_from_files": 60,
}


@dataclass
class Results:
    """What is known so far; every row replaces an earlier one of its place."""

    command: str
    out: Path
    toy: bool
    began: float = field(default_factory=time.monotonic)
    machine: tuple[str, ...] = ()
    rows: dict[tuple[str, str, str], Row] = field(default_factory=dict)

    def take(self, message: Row | tuple[str, ...]) -> None:
        if isinstance(message, Row):
            self.rows[message.place] = message
        else:
            self.machine = message
        self.write()

    def cut(self, part: str, why: str) -> None:
        """Note at the way that was running why it has no result, or in a row for the part."""
        running = [row for row in self.rows.values() if row.cost is None and not row.cells and not row.note]
        self.take(replace(running[-1], note=why) if running else Row(TABLE_OF[part.split("_")[0]], "", part, note=why))

    def write(self) -> None:
        seconds = time.monotonic() - self.began
        text = page(self.command, self.machine, list(self.rows.values()), toy=self.toy, seconds=seconds)
        partial = self.out.with_name(f".{self.out.name}")
        partial.write_text(text, encoding="utf-8")
        partial.replace(self.out)


def run(part: str, texts: Path, scratch: Path, deadline: float, results: Results) -> None:
    """Run a part in a process of its own until the deadline."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(part, results.toy, texts, scratch, sender))
    began = time.monotonic()
    process.start()
    sender.close()
    ended = False
    try:
        while not ended and receiver.poll(max(0.0, deadline - time.monotonic())):
            message = receiver.recv()
            ended = message is None
            if not ended:
                results.take(message)
        if ended:
            process.join(5)
        else:
            results.cut(part, f"out of time after {time.monotonic() - began:.0f} s of this part")
    except EOFError:
        process.join(5)
        results.cut(part, f"failed: the process ended with status {process.exitcode}")
    finally:
        process.kill()
        process.join()
    sys.stderr.write(f"{part}: {time.monotonic() - began:.0f} s\n")


def _child(part: str, toy: bool, texts: Path, scratch: Path, sender: multiprocessing.connection.Connection) -> None:
    from device_bench import FULL, TOY
    from device_parts import run_part

    run_part(part, TOY if toy else FULL, texts, scratch, sender)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="any file that mauve-lens compare reads")
    parser.add_argument("--out", type=Path, required=True, help="the page, written after each row")
    parser.add_argument("--toy", action="store_true", help="tiny, on the CPU")
    parser.add_argument("--seconds", type=float, default=480, help="when everything has ended")
    parser.add_argument("--parts", nargs="+", choices=[*SHARES][1:], help="these alone, after prepare; default: all")
    options = parser.parse_args()
    toy = " --toy" if options.toy else ""
    some = f" --parts {' '.join(options.parts)}" if options.parts else ""
    command = f"python benchmarks/device.py --texts FILE --out {options.out}{toy} --seconds {options.seconds:g}{some}"
    shares = {part: SHARES[part] for part in ("prepare", *(options.parts or [*SHARES][1:]))}
    results = Results(command, options.out, options.toy)
    with tempfile.TemporaryDirectory() as scratch:
        spent, last = 0, results.began + options.seconds - 5
        for part, share in shares.items():
            spent += share
            deadline = min(last, results.began + options.seconds * spent / sum(shares.values()))
            run(part, options.texts, Path(scratch), deadline, results)
    results.write()


if __name__ == "__main__":
    main()
