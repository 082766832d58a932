"""Findings about items that are no texts: their properties, tested as what texts say is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, fisher_exact

from mauve_core.findings import finding
from mauve_core.findings.finding import Finding, find
from mauve_core.findings.statements import Sides, suggested
from mauve_core.texts.kinds import kind_of

N = 120


def sides_of(human: dict[str, NDArray], model: dict[str, NDArray], kind: str = "image", **more: object) -> Sides:
    sizes = [next(iter(each.values())).size for each in (human, model)]
    measured = {name: np.concatenate([human[name], model[name]]) for name in human}
    return Sides("made", ("",) * sum(sizes), sizes[0], np.arange(sum(sizes)), kind=kind, measured=measured, **more)


def drawn(seed: int, n: int = N) -> dict[str, NDArray]:
    """Properties of n images of one size, all drawn from one distribution."""
    rng = np.random.default_rng(seed)
    own = {name: rng.beta(5, 5, size=n) for name in kind_of("image").properties}
    return own | {"width": np.full(n, 28.0), "height": np.full(n, 28.0)}


def every(found: tuple[Finding, ...]) -> list[Finding]:
    return [each for one in found for each in (one, *one.also)]


@pytest.mark.parametrize(
    ("change", "direction", "does", "condition"),
    [
        (0.25, "more", "makes brighter images", "have a brightness of more than "),
        (-0.25, "less", "makes darker images", "have a brightness of at most "),
    ],
)
def test_a_planted_difference_is_said_with_its_sign(change, direction, does, condition) -> None:
    human, model = drawn(1), drawn(2)
    model["brightness"] = model["brightness"] + change
    sides = sides_of(human, model)
    (found,) = every(find(sides))
    assert (found.kind, found.direction, found.does, found.shown_by) == ("brightness", direction, does, "model")
    assert found.condition.startswith(condition)
    assert found.sentence.startswith(f"made {does}: ")
    assert found.sentence.endswith(" of 100 real images")
    assert "text" not in " ".join([found.sentence, *found.remarks])
    tested = ~finding._split(sides, 0)
    own, other = model["brightness"][tested[N:]], human["brightness"][tested[:N]]
    assert (found.means.model, found.means.human) == pytest.approx((own.mean(), other.mean()))
    assert f"on average brightness {own.mean():.0%} against {other.mean():.0%}" in found.remarks
    # the limit lies between the values of those that meet the condition and of the others
    values = sides.measured["brightness"]
    has = np.concatenate(finding.masks(found, N, N))
    assert values[has].min() > values[~has].max() if change > 0 else values[has].max() < values[~has].min()
    assert found.share_model == has[N:][tested[N:]].mean() > found.share_human == has[:N][tested[:N]].mean()
    table = [
        [int(has[side].sum()), int((~has)[side].sum())] for side in (tested & sides.of_model, tested & ~sides.of_model)
    ]
    assert found.p_value == pytest.approx(fisher_exact(table).pvalue)


def test_halves_of_one_source_hardly_ever_differ() -> None:
    """False findings are at most as frequent as q, with clusters that have nothing to do with the sides."""
    wrong = 0
    for seed in range(40):
        labels = np.random.default_rng(100 + seed).integers(5, size=2 * N)
        sides = sides_of(drawn(2 * seed), drawn(2 * seed + 1), labels=labels, clusters=tuple("abcde"))
        wrong += bool(find(sides, seed=seed))
    assert wrong <= 5  # at q = 0.05 at most 2 expected; 6 or more have a chance of 1.4%


def test_what_does_not_vary_is_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = sides_of(drawn(1), drawn(2))
    suggesting = np.arange(2 * N) % 2 == 0
    assert {each.kind for each in suggested(sides, suggesting, ())} == set(sides.measured) - {"width", "height"}
    numbers = []
    monkeypatch.setattr(finding, "LOOKS", 1.0)
    monkeypatch.setattr(
        finding,
        "false_discovery_control",
        lambda p, **more: numbers.append(p.size) or false_discovery_control(p, **more),
    )
    find(sides)
    assert numbers == [len(sides.measured) - 2]


def test_images_all_alike_differ_in_nothing() -> None:
    same = {name: np.full(N, 0.5) for name in kind_of("image").properties}
    assert find(sides_of(same, same)) == ()


def test_of_texts_nothing_is_measured_and_of_images_no_words_are_counted() -> None:
    human, model = drawn(1), drawn(2)
    sides = replace(sides_of(human, model), texts=("bright",) * N + ("dark, perhaps?",) * N)
    assert find(sides) == ()


def test_items_without_a_property_do_not_count_in_its_means() -> None:
    human, model = drawn(1), drawn(2)
    model["contrast"] = model["contrast"] + 0.3
    human["contrast"][::7] = np.nan
    human["sharpness"][:] = np.nan
    sides = sides_of(human, model)
    (found,) = every(find(sides))
    tested = ~finding._split(sides, 0)[:N]
    assert found.means.human == pytest.approx(np.nanmean(human["contrast"][tested]))
