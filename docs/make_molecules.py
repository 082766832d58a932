"""Real and made-up molecules to compare, from the package molsets: ``python -m docs.make_molecules FOLDER``."""

from __future__ import annotations

import gzip
import sys
from collections import Counter, defaultdict
from importlib.metadata import files
from pathlib import Path

import numpy as np
from rdkit import Chem, rdBase

N, TRAINED_ON, ORDER, END, TEMPERATURES = 1000, 200_000, 5, "\n", (1.0, 0.5)


def molecules_of(split: str, rng: np.random.Generator) -> list[str]:
    (path,) = (file.locate() for file in files("molsets") or () if file.name == f"{split}.csv.gz")
    return list(rng.permutation(gzip.decompress(Path(str(path)).read_bytes()).decode().split()[1:]))


def n_grams(smiles: list[str]) -> dict[str, Counter[str]]:
    """Count the characters that follow ``ORDER - 1`` others; each SMILES begins and ends with ``END``."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for text in (END * (ORDER - 1) + each + END for each in smiles):
        for end in range(ORDER - 1, len(text)):
            found[text[end - ORDER + 1 : end]][text[end]] += 1
    return found


def drawn(counts: dict[str, Counter[str]], temperature: float, rng: np.random.Generator) -> list[str]:
    """Draw SMILES until ``N`` of them are molecules."""
    found: list[str] = []
    while len(found) < N:
        text = END * (ORDER - 1)
        while len(text) < ORDER or text[-1] != END:
            following = counts[text[1 - ORDER :]]
            weights = np.array(list(following.values())) ** (1 / temperature)
            text += rng.choice(list(following), p=weights / weights.sum())
        found += [text.strip()] if Chem.MolFromSmiles(text.strip()) else []
    return found


if __name__ == "__main__":
    rng, folder = np.random.default_rng(0), Path(sys.argv[1])
    sides = {split: molecules_of(split, rng) for split in ("test", "train", "test_scaffolds")}
    counts = n_grams(sides["train"][N : N + TRAINED_ON])
    with rdBase.BlockLogs():
        sides |= {f"ngram-{temperature}": drawn(counts, temperature, rng) for temperature in TEMPERATURES}
    folder.mkdir(parents=True, exist_ok=True)
    for name, smiles in sides.items():
        (folder / f"{name}.smi").write_text("\n".join(smiles[:N]) + "\n", encoding="utf-8")
