"""Models trained on the output of the one before: what the program measures of them, over generations.

    python benchmarks/self_training.py [--out benchmarks/results/self_training.md]

An n-gram model is trained on paragraphs of gensim's sample of Wikipedia, the next one on as many words that the first
writes, and so on (model collapse: Shumailov et al., *AI models collapse when trained on recursively generated data*,
Nature 2024). Each answers the same held-out prompts, and the answers are compared with held-out human texts. The n-gram
model knows no more of a prompt than its last words, so answers to one prompt are about as varied as answers to several.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ngram_writer import Words, Writer, text_of, words_of
from self_training_page import (
    MAUVE,
    MET,
    MISSED,
    MISSED_BY_HUMANS,
    WORDS,
    Arms,
    Generations,
    Measured,
    no_interval,
    page,
    plot,
)

from mauve_core.analyses.diversity import diversity_of_run
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.demo.texts import paragraphs
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.stats.diversity import Mean
from mauve_core.texts import Corpus, corpus_from_texts

ENCODER = "minilm"
# Shorter paragraphs are left out.
MIN_WORDS = 40

ORDER = 3
# Words and punctuation marks.
PROMPT, ANSWER = 20, 20


@dataclass(frozen=True)
class Arm:
    """How the training texts of the next generation come about.

    Attributes
    ----------
    about : str
    likelier_of : int
        Words that are drawn at a time, of which the likeliest is written.
    human : float
        Share of the training texts that are human ones, drawn anew for each generation.
    """

    about: str
    likelier_of: int
    human: float


ARMS = {
    "Own output": Arm("Each word of the training texts is the likelier of two draws.", 2, 0.0),
    "Half human text": Arm("The same, but half of the training texts are human ones, drawn anew.", 2, 0.5),
    "Own output, drawn freely": Arm("Each word of the training texts is drawn once.", 1, 0.0),
}


@dataclass(frozen=True)
class Study:
    """Human texts, divided at random.

    Attributes
    ----------
    training : list of list of str
        Words of the texts that generation 0 is trained on.
    prompts : list of list of str
        Beginnings of half of the held-out texts.
    human : Corpus
        What follows the beginning in all held-out texts.
    answers : int
        Answers to each prompt.
    """

    training: list[Words]
    prompts: list[Words]
    human: Corpus
    answers: int


def divided(texts: Sequence[str], prompts: int, answers: int, rng: np.random.Generator) -> Study:
    """Hold out two texts for each prompt; InputError if too few are long enough."""
    words = [words_of(text) for text in texts]
    long = [index for index, each in enumerate(words) if len(each) >= PROMPT + ANSWER]
    if len(long) < 2 * prompts or len(words) == 2 * prompts:
        allowed = f"more than {2 * prompts}, of {PROMPT + ANSWER} words or more"
        raise InputError("Too few texts to hold out", allowed=allowed, received=str(len(long)))
    held = rng.permutation(long)[: 2 * prompts].tolist()
    rest = np.setdiff1d(np.arange(len(words)), held).tolist()
    human = corpus_from_texts(
        [text_of(words[index][PROMPT : PROMPT + ANSWER]) for index in held],
        name=HUMAN,
        ids=[str(index) for index in held],
        prompts=[text_of(words[index][:PROMPT]) for index in held],
    )
    beginnings = [words[index][:PROMPT] for index in held[:prompts]]
    return Study([words[index] for index in rest], beginnings, human, answers)


def descendants(study: Study, first: Writer, arm: Arm, generations: int, rng: np.random.Generator) -> Iterator[Writer]:
    """Generations 1, 2 ...; each is trained on as many texts as the first, and as long ones."""
    writer, lengths = first, [len(text) for text in study.training]
    for _ in range(generations):
        texts = writer.write([[]] * len(lengths), lengths, rng, likelier_of=arm.likelier_of)
        for index in rng.permutation(len(lengths))[: round(arm.human * len(lengths))].tolist():
            texts[index] = study.training[index]
        writer = Writer(texts, ORDER)
        yield writer


def answers_of(study: Study, writer: Writer, name: str, rng: np.random.Generator) -> Corpus:
    """Answers to the prompts, each word drawn once."""
    asked = [prompt for prompt in study.prompts for _ in range(study.answers)]
    written = writer.write(asked, [ANSWER] * len(asked), rng)
    return corpus_from_texts(
        [text_of(words) for words in written], name=name, prompts=[text_of(prompt) for prompt in asked]
    )


def measured(
    study: Study, writers: Mapping[str, Writer], seed: int, encoder: str, rng: np.random.Generator
) -> dict[str, Measured]:
    """Compare the answers of all writers with the human texts, and measure their diversity."""
    corpora = {name: answers_of(study, writer, name, rng) for name, writer in writers.items()}
    config = CompareConfig(EncoderConfig(model=encoder), ScoreConfig(seed=seed), projection=False)
    with tempfile.TemporaryDirectory() as folder:
        features = FeatureStore(Path(folder, "features"))
        comparison = compare(study.human, corpora, config, feature_store=features, progress="none")
        run = RunStore(Path(folder, "runs")).save("run", comparison, {HUMAN: study.human, **corpora})
        diversity = diversity_of_run(run, feature_store=features)
    found = {}
    for name, writer in writers.items():
        score, own = comparison[name]["mauve"], diversity.candidates[name]
        contrasts = {"Cosine distance": own.distance, "Vendi score": own.vendi, "Self-BLEU": own.self_bleu}
        values = {
            WORDS: no_interval(writer.distinct_words),
            MET: no_interval(own.different.met),
            MAUVE: Mean(score.mean, score.low, score.high),
            MISSED: diversity.missed[name].share,
            MISSED_BY_HUMANS: diversity.missed[name].human_share,
        }
        for title, contrast in contrasts.items():
            values[f"{title}, one prompt"] = contrast.within
            values[f"{title}, different prompts"] = contrast.between or no_interval(np.nan)
        found[name] = Measured(values, corpora[name].texts[0])
    return found


def generations_of(
    texts: Sequence[str], seed: int, *, prompts: int, answers: int, generations: int, encoder: str
) -> dict[str, Generations]:
    """Train, write and measure under one seed; by arm."""
    rng = np.random.default_rng(seed)
    study = divided(texts, prompts, answers, rng)
    first = Writer(study.training, ORDER)
    writers = {"generation 0": first}
    for name, arm in ARMS.items():
        for number, writer in enumerate(descendants(study, first, arm, generations, rng), 1):
            writers[f"{name}, generation {number}"] = writer
    found = measured(study, writers, seed, encoder, rng)
    own = {name: [f"{name}, generation {number}" for number in range(1, generations + 1)] for name in ARMS}
    return {name: [found["generation 0"], *(found[each] for each in names)] for name, names in own.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--generations", type=int, default=5, help="after generation 0")
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--answers", type=int, default=8)
    parser.add_argument("--out", type=Path, help="also write the page there, and the plot beside it")
    options = parser.parse_args()
    texts = [paragraph.text for paragraph in paragraphs(MIN_WORDS)]
    arms: Arms = {name: [] for name in ARMS}
    for seed in range(options.seeds):
        found = generations_of(
            texts,
            seed,
            prompts=options.prompts,
            answers=options.answers,
            generations=options.generations,
            encoder=ENCODER,
        )
        for name, own in found.items():
            arms[name].append(own)
    minutes = time.process_time() / 60
    words = sum(len(words_of(text)) for text in texts)
    about = f"""    python benchmarks/self_training.py --seeds {options.seeds} --generations {options.generations}

An n-gram model of order {ORDER} (interpolated modified Kneser-Ney) is trained on paragraphs of English Wikipedia; of
{len(texts):,} paragraphs, {2 * options.prompts} are held out. Each next generation is trained on what the one before
writes: as many texts as the human ones, each as long as one of them ({words:,} words and punctuation marks with those
held out).

Each generation gives {options.answers} answers of {ANSWER} words to the beginnings of {options.prompts} held-out texts.
Each word of them is drawn once, so that the model is measured, not how training texts were drawn. The answers are
compared with {2 * options.prompts} held-out human texts at the encoder {ENCODER}. The model knows no more of a prompt
than its last {ORDER - 1} words, so answers to one prompt are about as varied as answers to different ones.

Numbers are means ± standard deviations over {options.seeds} seeds, which divide the texts and draw the words. In
parentheses is the program's own 95% interval of one run, its limits averaged over the seeds; of clusters missed it is
the range of 95% of the draws. It took {minutes:.0f} processor minutes."""
    kinds = {name: arm.about for name, arm in ARMS.items()}
    image = None if options.out is None else options.out.with_suffix(".svg")
    found_page = page(arms, kinds, about, None if image is None else image.name)
    if options.out is None or image is None:
        print(found_page)
        return
    write_atomically(image, lambda stream: stream.write(plot(arms).encode()))
    write_atomically(options.out, lambda stream: stream.write(found_page.encode()))


if __name__ == "__main__":
    main()
