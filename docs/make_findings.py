"""Three findings on the demo study, with their numbers and screenshots; writes docs/findings.md and docs/pictures.

    python -m docs.make_findings

Needs the demo run (`mauve-lens demo`), its measures, and a Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from playwright.sync_api import Page, expect, sync_playwright

from mauve_core.analyses.gap import WhatIf, prepare, text_weights, what_if
from mauve_core.analyses.text_measures import stored_measurements
from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_atomically
from mauve_core.base.formatting import NONE, as_percent, percent_with_interval, with_plain_spaces, written
from mauve_core.findings.clusters import ADDS, MISSES, assess_stability, costed_table, gap_test, repartition
from mauve_core.findings.why_cards import SEPARATES, PropertyEffect, WhyCard, WhySource, why_card, why_source
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.result import Estimate
from mauve_core.stats.stability import Stability
from mauve_core.stats.two_groups import effect
from mauve_core.stats.what_if import matched
from tests.browser.conftest import CHROMIUM_FLAGS, CHROMIUM_NAMES, serving

# The weight only fills columns of a table that are not used here.
RUN, WEIGHT = "demo", 0.5
HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
# What the page's own header covers.
HEADER_PX = 120

JOINT = {"partition": "joint", "seed": "0"}
ADVERSARIAL, CONTRASTIVE = "adversarial:ppl=22.21", "contrastive:alpha=0.6,k=5"


@dataclass(frozen=True)
class Found:
    """One cluster of the joint partition, first seed, under one candidate."""

    candidate: str
    cluster: int
    human: int
    model: int
    direction: str
    cost: str
    label: str
    card: WhyCard

    def flag(self, name: str) -> PropertyEffect:
        """The property in this cluster against all other texts."""
        return next(each for each in self.card.rest if each.name == name)


@dataclass(frozen=True, eq=False)
class Ledger:
    """What the pages know of one candidate's clusters; ``explains`` is whether they show costs."""

    table: pd.DataFrame
    explains: bool
    stability: Stability
    source: WhySource

    def by_cost(self, direction: str) -> list[int]:
        """The clusters of a direction, the costliest first."""
        own = self.table[self.table["direction"] == direction]
        return own.sort_values("cost", ascending=False)["cluster"].tolist()

    def told_apart(self, cluster: int, name: str) -> bool:
        """Whether a property alone separates the cluster from all other texts."""
        values, inside = self.source.properties[name], self.source.labels == cluster
        return bool(inside.any()) and effect(values[inside], values[~inside]).separates(SEPARATES)


class Study:
    """The demo run, asked for single clusters."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.names = [candidate.name for candidate in run.comparison.candidates]
        self.others = repartition(run, self.names[0])
        self.ledgers = {name: self.ledger(name) for name in self.names}
        self.k = len(self.ledgers[self.names[0]].table)

    def ledger(self, name: str) -> Ledger:
        run, comparison = self.run, self.run.comparison
        features = run.features(HUMAN), run.features(name)
        if features[0] is None or features[1] is None:
            raise SystemExit("The demo run has no features: mauve-lens demo")
        part, human, model = comparison.partition("joint", name, 0), run.corpora[HUMAN], run.corpora[name]
        prompts = {HUMAN: human.ids, name: model.ids}
        return Ledger(
            costed_table(comparison, "joint", name, 0, WEIGHT),
            gap_test(comparison, "joint", name).explains,
            assess_stability(comparison, name, "joint", 0, others=self.others, prompts=prompts),
            why_source(part, human, model, name, (features[0], features[1])),
        )

    def look(self, name: str, cluster: int) -> Found:
        ledger = self.ledgers[name]
        row, cost = ledger.table.iloc[cluster], NONE
        if ledger.explains:
            cost = with_plain_spaces(percent_with_interval(row["cost_share"], row["low"], row["high"]))
        counts, label = (int(row["human"]), int(row["model"])), str(ledger.stability.label[cluster])
        return Found(name, cluster, *counts, row["direction"], cost, label, why_card(ledger.source, cluster))

    def costliest(self, name: str) -> Found:
        """Of the clusters that a candidate adds: its first bar of Adds."""
        return self.look(name, self.ledgers[name].by_cost(ADDS)[0])

    def closed(self, name: str, cluster: int) -> WhatIf:
        """Scores in the joint partitions with the candidate's texts of the cluster at the human share."""
        comparison = self.run.comparison
        part = comparison.partition("joint", name, 0)
        weights = matched(part.counts(HUMAN), part.counts(name), [cluster])
        return what_if(prepare(comparison, name, "joint"), model=text_weights(part, name, weights))


def require(claim: bool, sentence: str) -> None:
    """Stop where a finding's prose would no longer hold."""
    if not claim:
        raise SystemExit(f"The demo run no longer shows this: {sentence}. Rewrite the finding.")


def _shown(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} ± {estimate.sd:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _signed(value: float) -> str:
    return written(value, 3, signed=True)


def share_of(compared: PropertyEffect) -> tuple[str, str, str]:
    """Means of a share here and elsewhere, and the AUC."""
    one = compared.effect
    if one is None:
        raise SystemExit(f"No {compared.name} to compare")
    return as_percent(one.first), as_percent(one.second), f"{one.auc:.2f}, {one.low:.2f} to {one.high:.2f}"


def perplexity(study: Study) -> str:
    """What the first finding says of both measures."""
    found = stored_measurements(study.run)
    row = None if found is None else found.row("perplexity", ADVERSARIAL)
    scores = study.run.comparison.candidate(ADVERSARIAL).scores["mauve"]
    mauve = f"its MAUVE is the lowest on the leaderboard, {scores.mean:.3f} ± {scores.sd:.3f}"
    if row is None or row.model is None or row.human is None:
        raise SystemExit("The demo run has no perplexity: mauve-lens demo")
    apart, spread = abs(row.model.value - row.human.value), np.hypot(row.model.sd or 0, row.human.sd or 0)
    require(apart <= 2 * spread, "adversarial sampling has the perplexity of the human texts")
    lowest = min(study.run.comparison.candidates, key=lambda each: each.scores["mauve"].mean)
    require(lowest.name == ADVERSARIAL, "adversarial sampling has the lowest MAUVE")
    return (
        f"Adversarial sampling targets the perplexity of the human texts and reaches it: {row.model.value:.1f} ± "
        f"{row.model.sd:.1f} against {row.human.value:.1f} ± {row.human.sd:.1f}. Even so, {mauve}"
    )


def first(study: Study) -> str:
    found = study.costliest(ADVERSARIAL)
    length, stops = found.flag("length").effect, share_of(found.flag("stop_words"))
    if length is None:
        raise SystemExit("No lengths to compare")
    flagged = {each.name for each in found.card.rest if each.separates}
    require(
        flagged == {"length", "stop_words"}, "length and stop words are the flags of adversarial sampling's cluster"
    )
    return f"""## Human perplexity, other texts

*Decoders, Measures, Generation perplexity; then Gap, candidate {ADVERSARIAL}, first bar of Adds, tab Why.*

{perplexity(study)}. Of the clusters that it adds, cluster {found.cluster} costs most, {found.cost} of the frontier
integral ({found.label}): {found.model} of its texts are there, and {found.human} of the human side. Two properties are
flagged, each of which alone separates the cluster from all other texts: length, {length.first:.0f} words instead of
{length.second:.0f} (AUC {length.auc:.2f}, {length.low:.2f} to {length.high:.2f}), and stop words, {stops[0]} of the
tokens instead of {stops[1]} (AUC {stops[2]}). The texts begin with unrelated words and often go on with one date,
number or sentence over and over. Very unlikely tokens and almost certain ones then average to the perplexity of human
texts.

![Gap of adversarial sampling](pictures/adversarial.png)
"""


def second(study: Study) -> str:
    found, ledger = study.costliest(CONTRASTIVE), study.ledgers[CONTRASTIVE]
    most = float(ledger.table["high"].max())
    require(ledger.explains and most < 0.5, "contrastive search has a gap, but no cluster with half of it")
    closed = study.closed(CONTRASTIVE, found.cluster)
    change = closed.change["mauve"]
    others = [study.look(name, found.cluster).model for name in study.names if name != CONTRASTIVE]
    phrases = ", ".join(f"*{phrase.text}*" for phrase in found.card.cluster_phrases[:6])
    said = f" Its distinctive phrases against neighboring clusters are {phrases}." if phrases else ""
    return f"""## A gap of many clusters

*Gap, candidate {CONTRASTIVE}; first bar of Adds; then What would close the gap, action Match the human share.*

Of the clusters that contrastive search adds, cluster {found.cluster} costs most, {found.cost} of the frontier integral
({found.label}): {found.model} of its texts are there, {found.human} human texts, and {min(others)} to {max(others)} of
each other candidate.{said} With its texts there reduced to the human share, MAUVE in the joint partition is
{_shown(closed.after["mauve"])} instead of {_shown(closed.before["mauve"])}: mean ± sd over seeds [95% over texts]. The
change is {_signed(change.mean)} [{_signed(change.low)}, {_signed(change.high)}]. No cluster explains the gap by itself:
the intervals of all {study.k} shares, which hold at once, end at {as_percent(most)} or below. On the leaderboard, in
the pairwise partition, MAUVE is {_shown(study.run.comparison.candidate(CONTRASTIVE).scores["mauve"])}.

![What would close the gap of contrastive search](pictures/contrastive.png)
"""


def ending(study: Study) -> tuple[str, int]:
    """A candidate, and the cluster that it misses at the highest cost of those that a truncated end alone tells apart.

    All missed clusters are searched, because such a cluster need not be among a candidate's costliest.
    """
    found = [
        (ledger.table["cost_share"].iloc[cluster], name, cluster)
        for name, ledger in study.ledgers.items()
        for cluster in ledger.by_cost(MISSES)
        if ledger.told_apart(cluster, "truncated")
    ]
    require(bool(found), "a cluster that some candidate misses is told apart by where its texts end")
    _, name, cluster = max(found)
    return name, cluster


def complete(study: Study, cluster: int) -> tuple[int, int]:
    """Texts of all sides that end a sentence: in the cluster, and in all."""
    counts = []
    for name, ledger in study.ledgers.items():
        own = np.arange(ledger.source.labels.size) >= (0 if name == study.names[0] else ledger.source.humans)
        ends = own & (ledger.source.properties["truncated"] == 0)
        counts.append((int((ends & (ledger.source.labels == cluster)).sum()), int(ends.sum())))
    inside, everywhere = np.sum(counts, axis=0)
    return int(inside), int(everywhere)


def third(study: Study) -> str:
    name, cluster = ending(study)
    ledger, rows = study.ledgers[name], [study.look(each, cluster) for each in study.names]
    only = [each for each in range(study.k) if ledger.told_apart(each, "truncated")] == [cluster]
    here, elsewhere, auc = share_of(study.look(name, cluster).flag("truncated"))
    inside, everywhere = complete(study, cluster)
    require(2 * inside > everywhere, "most texts with a complete last sentence are in one cluster")
    lines = "\n".join(
        f"| {row.candidate} | {row.model} | {row.direction or 'neither'} | {row.cost} | {row.label} |" for row in rows
    )
    return f"""## Where a text ends

*Clusters, candidate {name}, cluster {cluster}, tab Why.*

Cluster {cluster} is {"the only one" if only else "one"} of the {study.k} that a truncated end alone separates from all
other texts of people and {name}: {here} of its texts stop in the middle of a sentence, {elsewhere} of the others do
(AUC {auc}). All texts are cut at 128 tokens, and the last token represents the text, so texts that happen to end with a
complete sentence cluster together, though their topics differ. Of all {everywhere} texts that do, whoever wrote them,
{inside} are in this cluster. It has {rows[0].human} human texts:

| candidate | its texts | adds or misses | cost | stability |
| --- | --- | --- | --- | --- |
{lines}

What a candidate seems to miss or add there is where its texts stop, not what they say. Look at a cluster's flags before
you take it for a topic, and compare whole texts where you can.

![A cluster of texts that end with a complete sentence](pictures/endings.png)
"""


def stable(study: Study) -> str:
    counts = {name: ledger.stability.label for name, ledger in study.ledgers.items()}
    lines = "\n".join(
        f"| {name} | " + " | ".join(str(int((labels == kind).sum())) for kind in ("stable", "unsure", "noise")) + " |"
        for name, labels in counts.items()
    )
    return f"""## How many clusters to believe

How many of the {study.k} clusters of the joint partition, first seed, differ between people and the candidate beyond
chance, under other seeds and other k, too (*Gap*, column stability)?

| candidate | stable | unsure | noise |
| --- | --- | --- | --- |
{lines}
"""


def wrapped(page: str) -> str:
    """The page with its paragraphs in lines of up to 120 characters; tables, headings and pictures as they are."""
    blocks = page.split("\n\n")
    kept = ("#", "|", "!", "\n#", "\n!")
    return "\n\n".join(
        block if block.startswith(kept) else textwrap.fill(block, 120, break_on_hyphens=False) for block in blocks
    )


def pictures(study: Study) -> None:
    """The pages that the findings name."""
    PICTURES.mkdir(exist_ok=True)
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path is None:
        raise SystemExit("No Chromium on this machine")
    name, cluster = ending(study)
    views = (
        ("adversarial", "gap", {"candidate": ADVERSARIAL}, ()),
        (
            "contrastive",
            "gap",
            {"candidate": CONTRASTIVE, "cluster": study.costliest(CONTRASTIVE).cluster, "action": "match"},
            ("What would close",),
        ),
        ("endings", "clusters", {"candidate": name, "cluster": cluster}, ("Why",)),
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "home"
        shutil.copytree(study.run.path, home / "runs" / RUN)
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        with serving(home) as url:
            for shown, view, state, tabs in views:
                context = browser.new_context(viewport={"width": 1280, "height": 1100}, color_scheme="light")
                picture(context.new_page(), f"{url}/{view}?{urlencode({'run': RUN, **JOINT, **state})}", tabs, shown)
                context.close()
        browser.close()


def picture(page: Page, url: str, tabs: Sequence[str], name: str) -> None:
    app = page.get_by_test_id("stApp")
    page.goto(url)
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=120_000)
    for tab in tabs:
        expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=120_000)
        page.get_by_role("tab", name=tab).click()
    expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=120_000)
    page.wait_for_timeout(2000)  # Plotly draws after Streamlit is done
    if tabs:
        page.get_by_role("tab", name=tabs[-1]).evaluate("tab => tab.scrollIntoView({block: 'start'})")
        page.mouse.move(700, 500)
        page.mouse.wheel(0, -HEADER_PX)
        page.wait_for_timeout(1000)
    page.screenshot(path=PICTURES / f"{name}.png")


def main() -> None:
    study = Study(RunStore().load(RUN))
    head = f"""# Findings on the demo study

`python -m docs.make_findings` generates this page from the demo run: {len(study.run.corpora[HUMAN])} Wikipedia
paragraphs and SmolLM2-135M-Instruct's continuations of their first words. Clusters are those of the joint
partition, first seed, which are the same for every candidate: on each page, choose *Joint* and seed 1 under
*Sensitivity*. Costs are shares of the frontier integral, with 95% bootstrap intervals over prompts that hold for all
clusters at once.
"""
    page = wrapped("\n".join([head, first(study), second(study), third(study), stable(study)]))
    write_atomically(HERE / "findings.md", lambda stream: stream.write(page.encode()))
    pictures(study)


if __name__ == "__main__":
    main()
