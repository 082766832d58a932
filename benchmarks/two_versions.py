"""Two versions of one model, and one version twice: which differences are found between their answers.

    python benchmarks/two_versions.py [--out benchmarks/results/two_versions.md] [--texts FOLDER]

SmolLM2-135M-Instruct answers questions about the articles of gensim's sample of Wikipedia: without a system message,
with one that asks for something, and once more without, with other random numbers. The texts of both versions may be
kept for the app, as JSONL files in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from mauve_core.base.config import FDR
from mauve_core.base.files import write_atomically
from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, parse_decoder
from mauve_core.demo.texts import paragraphs
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.findings.finding import Finding, findings_between
from mauve_core.texts import Corpus, corpus_from_texts

MODEL, DECODER = "smollm2-135m", "nucleus:p=0.95"
TOKENS, BATCH = 48, 64
QUESTIONS = ("What is {}?", "Tell me something about {}.")
SYSTEM = "You are a teacher of small children. Explain everything with simple words and end with a question."
SHOWN = 5

# System message, and the generation whose random numbers are used.
VERSIONS = {"version 1": ("", 0), "version 2": (SYSTEM, 1), "version 1 again": ("", 2)}


def questions() -> dict[str, str]:
    """Questions about every article, by id."""
    titles = list(dict.fromkeys(paragraph.title for paragraph in paragraphs()))
    return {f"{title}/{index}": each.format(title) for title in titles for index, each in enumerate(QUESTIONS)}


def answers(loaded: LoadedModel, asked: dict[str, str], system: str, generation: int) -> list[str]:
    """One answer to each question."""
    role = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    texts = [f"{role}<|im_start|>user\n{each}<|im_end|>\n<|im_start|>assistant\n" for each in asked.values()]
    prompts, found = Prompts(tuple(asked), tuple(texts)), list[str]()
    for start in range(0, len(texts), BATCH):
        batch = prompts.chosen(range(start, min(start + BATCH, len(texts))))
        settings = GenerationSettings(max_new_tokens=TOKENS)
        found += continue_prompts(loaded, batch, parse_decoder(DECODER), settings, generation)
    return found


def lines(found: Sequence[Finding], seconds: float) -> list[str]:
    """The largest findings as a list."""
    shown = [f"{number}. {each.sentence} ({'; '.join(each.remarks)})" for number, each in enumerate(found[:SHOWN], 1)]
    return [
        f"{len(found)} findings at q = {FDR} in {seconds:.1f} s.",
        "",
        *(shown or ["Nothing was found."]),
        "",
    ]


def page(corpora: dict[str, Corpus]) -> str:
    first, second, again = corpora.values()
    parts = [
        "# Two versions of one model",
        "",
        "    python benchmarks/two_versions.py --out benchmarks/results/two_versions.md",
        "",
        f"{MODEL} with {DECODER} and at most {TOKENS} tokens answers {len(first)} questions. Version 2 has the system "
        f"message “{SYSTEM}”",
        "",
    ]
    for title, candidate in (("Version 2 against version 1", second), ("Version 1 against itself", again)):
        started = time.perf_counter()
        found = findings_between(first, candidate)
        parts += [f"## {title}", "", *lines(found, time.perf_counter() - started)]
    return "\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the page; printed otherwise")
    parser.add_argument("--texts", type=Path, help="folder for the texts as JSONL")
    options = parser.parse_args()
    loaded, asked = load_model(MODEL, device="cpu", with_head=True), questions()
    corpora = {}
    for name, (system, generation) in VERSIONS.items():
        rows = zip(asked, answers(loaded, asked, system, generation), strict=True)
        kept = {key: text for key, text in rows if text.strip()}
        corpora[name] = corpus_from_texts(list(kept.values()), name=name, ids=list(kept))
        if options.texts:
            options.texts.mkdir(parents=True, exist_ok=True)
            written = "\n".join(json.dumps({"id": key, "text": text}) for key, text in kept.items())
            (options.texts / f"{name.replace(' ', '-')}.jsonl").write_text(written, encoding="utf-8")
    found = page(corpora)
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(found.encode("utf-8")))
    else:
        print(found)


if __name__ == "__main__":
    main()
