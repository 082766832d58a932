"""Copied texts: copies are flagged, whole, edited or in part; honest texts and shuffled words are not."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.attached_results import verdict
from mauve_core.base.config import HUMAN
from mauve_core.base.words import TEXTS
from mauve_core.findings.copied import SEEN, CopiedTexts, copied_texts, with_seen, without, words_of_text
from mauve_core.findings.format_checks import Preflight, headline, preflight, rule_sentence, shown_rows, to_text
from mauve_core.findings.precomputed import run_preflight
from mauve_core.runs import RunStore
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.pairing import prompts_of
from tests.planted_copies import HUMANS, OTHERS, PARTLY, THIRD, N, make_copier_run, texts


def dropped(text: str, share: float, rng: np.random.Generator) -> str:
    return " ".join(word for word in text.split() if rng.random() >= share)


def shuffled(text: str, rng: np.random.Generator) -> str:
    return " ".join(" ".join(rng.permutation(each.split()).tolist()) for each in text.split(". "))


def rows(model: Sequence[str], human: Sequence[str] = HUMANS, **more: Sequence[str]) -> CopiedTexts:
    sides = {HUMAN: corpus_from_texts(human, name="human", **more), "m": corpus_from_texts(model, name="m", **more)}
    (row,) = copied_texts(sides, prompts_of(sides))
    return row


def plain(of: Sequence[str], others: Sequence[str] | None) -> list[float]:
    """Share of each text's distinct 8-grams that stand in another text, by the definition, for plain English."""

    def grams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(words[place : place + 8]) for place in range(len(words) - 7)}

    found = []
    for index, text in enumerate(of):
        held = [each for place, each in enumerate(of) if place != index] if others is None else others
        known = set().union(*(grams(each) for each in held))
        found.append(len(grams(text) & known) / len(grams(text)))
    return found


RNG = np.random.default_rng(0)
KINDS = {
    "honest": (OTHERS, False),
    "whole": (HUMANS, True),
    "a third": (PARTLY, True),
    "4 % dropped": ([dropped(text, 0.04, RNG) for text in HUMANS], True),
    "10 % dropped": ([dropped(text, 0.1, RNG) for text in HUMANS], True),
    "shuffled within sentences": ([shuffled(text, RNG) for text in HUMANS], False),
    "upper case without punctuation": ([text.replace(".", "").upper() for text in HUMANS], True),
    "patched from three texts": (
        [" ".join(HUMANS[(i + k) % N][150 * k : 150 * (k + 1)] for k in range(3)) for i in range(N)],
        True,
    ),
    "every twentieth": ([HUMANS[i] if i % 20 == 0 else own for i, own in enumerate(OTHERS)], False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_a_copy(kind: str) -> None:
    of, flagged = KINDS[kind]
    row = rows(of)
    assert row.flagged == flagged
    assert row.candidate_copied == sum(share > 0.2 for share in plain(of, HUMANS))
    assert row.human_copied == sum(share > 0.2 for share in plain(HUMANS, None)) == 0


def test_human_texts_that_repeat_each_other_count_against_the_copies() -> None:
    """Four in five human texts stand there twice; so do the candidate's, of the same file."""
    human = [*HUMANS[:48], *HUMANS[:48], *HUMANS[48:72]]
    row = rows(human, human)
    assert (row.human_copied, row.candidate_copied) == (96, N)
    assert row.difference == pytest.approx(0.2)
    assert row.flagged
    assert not rows([*HUMANS[:96], *OTHERS[96:]], human).flagged


def test_the_longest_run_has_its_place() -> None:
    model = [*OTHERS[:-1], f"Before. {' '.join(HUMANS[7].split()[9:39])} After, too."]
    row = rows(model, ids=[f"t{number}" for number in range(N)])
    assert (row.longest, row.longest_ids) == (30, (f"t{N - 1}", "t7"))
    assert "Longest run: 30 words of its text t119, in human text t7." in row.line(TEXTS)


def test_a_prompt_that_both_sides_repeat_is_no_copy() -> None:
    prompts = texts(N, 3)
    own, human = ([prompt + text for prompt, text in zip(prompts, of, strict=True)] for of in (OTHERS, HUMANS))
    assert rows(own, human).flagged, "otherwise this tests nothing"
    assert rows(own, human, prompts=prompts).candidate_copied == 0
    row = rows([*own[1:], prompts[0].upper()], human, prompts=[*prompts[1:], prompts[0]])
    assert (row.candidate_n, row.candidate_short) == (N - 1, 1)
    assert "Left out: 1 text with under 8 words of their own." in row.line(TEXTS)


@pytest.mark.parametrize("human", [["Too short."] * 30, ["One text of this file has just enough words."]])
def test_sides_without_enough_texts_are_not_flagged(human: list[str]) -> None:
    row = rows(human, human)
    assert not row.flagged
    assert row.difference is None
    assert row.cells(TEXTS)[4] == "–"


def test_words_of_other_scripts() -> None:
    accents = "Un été à Nîmes, où l’été déçoit"
    assert words_of_text(unicodedata.normalize("NFD", accents)) == words_of_text(accents)
    assert words_of_text(accents) == ["un", "été", "à", "nîmes", "où", "l", "été", "déçoit"]
    assert words_of_text("हिन्दी में") == ["हिन्दी", "में"]
    assert words_of_text("我们去。ดีมาก Straße_2 co\u00adop") == [*"我们去", "ดี", "ม", "า", "ก", "strasse", "2", "coop"]
    assert words_of_text("Ġthe<|endoftext|>") == words_of_text("the")


def test_copies_of_seen_texts_count_and_are_kept_with_the_texts() -> None:
    sides = {HUMAN: corpus_from_texts(HUMANS, name="human"), "m": corpus_from_texts(OTHERS, name="m")}
    found = with_seen(sides, OTHERS[:40])
    assert found["m"].metadata[SEEN].gt(0.2).sum() == 40
    (row,) = preflight(found).copying
    assert (row.candidate_copied, row.seen_copied, row.human_copied) == (40, 40, 0)
    assert "human texts or the seen one" in row.line(TEXTS)
    assert str(row.sentence(TEXTS)) == "m copies 40 of 120 texts from the human file or the seen one."
    named = corpus_from_texts(OTHERS, name="m", metadata={SEEN: ["1"] * N})
    assert copied_texts({HUMAN: sides[HUMAN], "m": named}, prompts_of(sides))[0].seen_copied is None
    images = {name: dataclasses.replace(side, kind="molecule") for name, side in sides.items()}
    assert with_seen(images, OTHERS) == images
    assert preflight(images) == Preflight(())


def test_what_a_preflight_says_of_copies() -> None:
    model = PARTLY
    sides = {HUMAN: corpus_from_texts(HUMANS, name="human"), "m": corpus_from_texts(model, name="m")}
    found = preflight(sides)
    assert not found.flagged, "copies are no difference of format"
    assert headline(found).startswith("The candidate copies human texts. No difference of format")
    line = to_text(found).splitlines()
    assert line[0] == "Copied texts"
    assert line[1].startswith(
        "  ! Copied texts: over 20% of their runs of 8 words are in other human texts: human 0 of 120 (0%), m 40 of "
        "120 (33%). Longest run: "
    )
    assert "in reference text" in found.copying[0].line(TEXTS.against("gpt2"))
    ((kind, name, *_, todo),) = shown_rows(found)
    assert (kind.split(":")[0], name) == ("Copied texts", "m")
    assert todo.startswith("Compare again without them")
    assert len(shown_rows(found, found.rows)) == 13
    assert "lies above 0.525" in rule_sentence(found)


def test_a_run_of_a_copier(tmp_path: Path) -> None:
    run = make_copier_run(tmp_path)
    everything, left = without(run.comparison, "copier", np.ones(N, bool))
    assert everything == pytest.approx(run.comparison.candidate("copier").scores["mauve"].mean, abs=1e-12)
    assert left == N
    assert without(run.comparison, "copier", np.arange(N) < 29) == (None, 29), "under five per cluster"
    (row,) = run_preflight(run).copying
    score, _ = without(run.comparison, "copier", ~THIRD)
    assert (row.candidate, row.left, row.mauve_without) == ("copier", 80, score)
    assert score is not None
    assert score < everything
    found = verdict(run)
    assert [str(each) for each in found.copied] == [
        f"copier copies 40 of 120 texts from the human file; without them its MAUVE is {score:.3f} (80 texts)."
    ]
    assert found.leaders == ("near",)
    assert str(found.closest).startswith("Among the others, under the features given, near is closer to ")


@pytest.mark.usefixtures("own_home")
def test_the_command_line_reads_seen_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["compare", "--no-map", "--quiet", "--json", "--seeds", "1", "--bootstrap", "100"]
    for name, of in ((HUMAN, HUMANS), ("m", OTHERS), ("seen", OTHERS[:40])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in of))
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(len(name)).normal(size=(len(of), 4)).astype(np.float32))
    argv += ["--human", str(tmp_path / "human.jsonl"), "--model", f"m={tmp_path / 'm.jsonl'}"]
    argv += [part for name in (HUMAN, "m") for part in ("--features", f"{name}={tmp_path / name}.npy")]
    assert main([*argv, "--seen", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl does not exist" in capsys.readouterr().err
    assert main([*argv, "--seen", str(tmp_path / "seen.jsonl")]) == 0
    (row,) = json.loads(capsys.readouterr().out)["preflight"]["copied"]
    assert (row["seen_copied"], row["candidate_copied"], row["human_copied"]) == (40, 40, 0)
    (run,) = RunStore().list()
    derived = RunStore().load(run.id).path / "derived"
    shutil.rmtree(derived)
    assert run_preflight(RunStore().load(run.id)).copied[0].seen_copied == 40, "what was seen is kept with the texts"
