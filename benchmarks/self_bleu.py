"""Self-BLEU of our counting beside plain loops over sacrebleu: time, ratio, and the largest difference.

    python benchmarks/self_bleu.py [--texts FILE] [--out benchmarks/results/self_bleu.md]

The papers' protocol: 1,000 sampled texts, each against all others of 5,000 as references. Without a file the texts are
of 200 words, in the frequencies and neighbourhoods of the installed Wikipedia sample: runs of 5 words from random
places of random paragraphs, which gives as many texts as are asked for. The plain loop hands sacrebleu the references
of each text anew. The fairer one keeps every reference's n-grams and lets sacrebleu score from their union; only that
union is made anew, since it leaves out another text each time. A plain loop over all 1,000 would take hours: both run
on a few of the sampled texts, and their time is scaled to the whole sample.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.helpers import extract_all_word_ngrams

from mauve_core.analyses.lexical_measures import ORDER, SMOOTHING, sentence_scores, word_ids
from mauve_core.base.files import write_atomically
from mauve_core.demo.texts import paragraphs
from mauve_core.estimators.token_sequences import Overlap
from mauve_core.texts import read_corpus

# Words that stay together in a made-up text.
RUN = 5

Loop = Callable[[Sequence[str], Sequence[int]], list[float]]


def made_up_texts(n: int, words: int, seed: int) -> list[str]:
    """n texts of ``words`` words, put together from runs of Wikipedia's."""
    rng = np.random.default_rng(seed)
    sources = [paragraph.text.split() for paragraph in paragraphs()]
    texts = []
    for _ in range(n):
        parts: list[str] = []
        while len(parts) < words:
            source = sources[rng.integers(len(sources))]
            start = int(rng.integers(len(source) - RUN))
            parts += source[start : start + RUN]
        texts.append(" ".join(parts[:words]))
    return texts


def ours(texts: Sequence[str], rows: Sequence[int]) -> list[float]:
    overlap = Overlap(*word_ids(tuple(texts)), ORDER)  # a new tokenizer each time: sacrebleu's remembers its texts
    return [float(score) for score in sentence_scores(overlap, np.asarray(rows))]


def plain(texts: Sequence[str], rows: Sequence[int]) -> list[float]:
    """sacrebleu with all other texts as references, each time anew."""
    bleu = BLEU(**SMOOTHING)
    scores = []
    for row in rows:
        others = [[text] for place, text in enumerate(texts) if place != row]
        scores.append(bleu.corpus_score([texts[row]], others).score / 100)
    return scores


class WithReferencesKept:
    """The same with every text cut into n-grams once, beforehand, in sacrebleu's own way."""

    def __init__(self) -> None:
        self._bleu = BLEU(**SMOOTHING)
        self._grams: list[Counter[tuple[str, ...]]] = []
        self._lengths: list[int] = []

    def prepare(self, texts: Sequence[str]) -> list[float]:
        for text in texts:
            grams, length = extract_all_word_ngrams(self._bleu._preprocess_segment(text), 1, ORDER)
            self._grams.append(grams)
            self._lengths.append(length)
        return []

    def __call__(self, texts: Sequence[str], rows: Sequence[int]) -> list[float]:
        scores = []
        for row in rows:
            union: Counter[tuple[str, ...]] = Counter()
            for place, grams in enumerate(self._grams):
                if place != row:
                    for gram, count in grams.items():
                        if count > union[gram]:
                            union[gram] = count
            lengths = [length for place, length in enumerate(self._lengths) if place != row]
            references = {"ref_ngrams": union, "ref_lens": lengths}
            found = self._bleu._compute_segment_statistics(self._bleu._preprocess_segment(texts[row]), references)
            scores.append(self._bleu._compute_score_from_stats(found).score / 100)
        return scores


def timed(loop: Loop, texts: Sequence[str], rows: Sequence[int]) -> tuple[float, list[float]]:
    """Processor seconds of the call, which other work on the machine hardly moves, and what it returns."""
    started = time.process_time()
    scores = loop(texts, rows)
    return time.process_time() - started, scores


def report(options: argparse.Namespace) -> str:
    """The benchmark as a Markdown page."""
    if options.texts:
        texts = list(read_corpus(options.texts).texts)[: options.of]
        origin = f"those of {options.texts.name}"
    else:
        texts = made_up_texts(options.of, options.words, options.seed)
        origin = f"made up from the Wikipedia sample, {options.words} words each"
    sample = np.sort(np.random.default_rng(options.seed).permutation(len(texts))[: options.sample]).tolist()
    few = sample[:: max(1, len(sample) // options.plain)][: options.plain]
    seconds, scores = [], []
    for _ in range(options.rounds):
        once, scores = timed(ours, texts, sample)
        seconds.append(once)
    return f"""# Self-BLEU

    {options.command}

{len(sample):,} sampled texts, each with all others of {len(texts):,} as references, 4-grams. Texts: {origin}.
Ours took {min(seconds):.2f} to {max(seconds):.2f} processor seconds over {len(seconds)} rounds, cutting texts into
words included; mean self-BLEU {np.mean(scores):.4f}. The loops over sacrebleu ran on {len(few)} of the
{len(sample):,} sampled texts, and their time is scaled to all of them.

| way | texts timed | processor seconds | for the sample | ours is faster by | largest difference |
| --- | --- | --- | --- | --- | --- |
{table(texts, sample, few, float(np.median(seconds)), scores)}

sacrebleu {version("sacrebleu")}, numpy {version("numpy")}, Python {platform.python_version()}, {platform.machine()}, \
one thread of {os.cpu_count()} cores.
"""


def table(texts: Sequence[str], sample: list[int], few: list[int], own: float, scores: Sequence[float]) -> str:
    """Rows of the page: ours, and each loop over sacrebleu on a ``few`` texts."""
    kept = WithReferencesKept()
    prepared, _ = timed(lambda texts, _: kept.prepare(texts), texts, few)
    lines = [f"| ours | {len(sample):,} | {own:.2f} | {own:.2f} | | |"]
    by_row = dict(zip(sample, scores, strict=True))
    for name, loop, once in (("sacrebleu, plain loop", plain, 0.0), ("sacrebleu, references kept", kept, prepared)):
        spent, found = timed(loop, texts, few)
        whole = once + spent / len(few) * len(sample)
        gap = max(abs(by_row[row] - score) for row, score in zip(few, found, strict=True))
        cells = [name, str(len(few)), f"{once + spent:.2f}", f"{whole:.0f}", f"{whole / own:.0f} times", f"{gap:.1e}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="any file that mauve-lens compare reads")
    parser.add_argument("--of", type=int, default=5000, help="texts, default 5000")
    parser.add_argument("--sample", type=int, default=1000, help="texts that are scored, default 1000")
    parser.add_argument("--words", type=int, default=200, help="words of a made-up text, default 200")
    parser.add_argument("--plain", type=int, default=5, help="sampled texts that the plain loops score, default 5")
    parser.add_argument("--rounds", type=int, default=3, help="times that ours runs; the median counts, default 3")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the page there")
    options = parser.parse_args()
    given = [f"--{name} {value}" for name, value in vars(options).items() if value != parser.get_default(name)]
    options.command = " ".join(["python benchmarks/self_bleu.py", *given])
    page = report(options)
    print(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
