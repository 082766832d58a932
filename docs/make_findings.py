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

from playwright.sync_api import Page, expect, sync_playwright

from mauve_core.analysis.cluster_table import cluster_table, error_intervals
from mauve_core.analysis.repartition import repartition
from mauve_core.analysis.stability import assess_stability
from mauve_core.analysis.what_if import prepare, text_weights, what_if
from mauve_core.analysis.why import PropertyEffect, WhyCard, why_card, why_source
from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_atomically
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.numerics.divergences.what_if import matched
from mauve_core.numerics.resampling.stability import Stability
from mauve_core.scoring.result import Estimate
from mauve_core.store import Run, RunStore
from tests.browser.conftest import CHROMIUM_FLAGS, CHROMIUM_NAMES, serving

RUN, WEIGHT = "demo", 0.5
HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
HEADER_PX = 120
"""What the page's own header covers."""

ADVERSARIAL, CONTRASTIVE = "adversarial:ppl=22.21", "contrastive:alpha=0.6,k=5"


@dataclass(frozen=True)
class Found:
    """One cluster of the joint partition, first seed, under one candidate."""

    candidate: str
    cluster: int
    human: int
    model: int
    type_1: str
    type_2: str
    label: str
    card: WhyCard

    def flag(self, name: str) -> PropertyEffect:
        """The property in this cluster against all other texts."""
        return next(each for each in self.card.rest if each.name == name)


class Study:
    """The demo run, asked for single clusters."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.names = [candidate.name for candidate in run.comparison.candidates]
        self.others = repartition(run, self.names[0])

    def stability(self, name: str) -> Stability:
        ids = {side: self.run.corpora[side].ids for side in (HUMAN, name)}
        return assess_stability(self.run.comparison, name, "joint", 0, others=self.others, prompts=ids)

    def look(self, name: str, cluster: int | None = None, *, error: str = "type_1") -> Found:
        """A cluster, or the one with the largest part of an error."""
        run, part = self.run, self.run.comparison.partition("joint", name, 0)
        counts = part.counts(HUMAN), part.counts(name)
        table, intervals = cluster_table(*counts, WEIGHT), error_intervals(*counts, WEIGHT)
        at = int(table[error].to_numpy().argmax()) if cluster is None else cluster
        shares = [
            f"{table[each][at]:.0%} ({intervals[each][0][at]:.0%} to {intervals[each][1][at]:.0%})"
            for each in ("type_1", "type_2")
        ]
        features = run.features(HUMAN), run.features(name)
        if features[0] is None or features[1] is None:
            raise SystemExit("The demo run has no features: mauve-lens demo")
        source = why_source(part, run.corpora[HUMAN], run.corpora[name], name, (features[0], features[1]))
        label = str(self.stability(name).label[at])
        sizes = int(counts[0][at]), int(counts[1][at])
        return Found(name, at, *sizes, shares[0], shares[1], label, why_card(source, at))

    def closed(self, name: str, cluster: int) -> tuple[str, str]:
        """MAUVE as it is, and with the candidate's texts of the cluster brought to the human share."""
        comparison = self.run.comparison
        part = comparison.partition("joint", name, 0)
        weights = matched(part.counts(HUMAN), part.counts(name), [cluster])
        found = what_if(prepare(comparison, name, "joint"), model=text_weights(part, name, weights))
        return _shown(found.before["mauve"]), _shown(found.after["mauve"])


def _shown(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} ± {estimate.sd:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def share_of(effect: PropertyEffect) -> tuple[str, str, str]:
    """Means of a share here and elsewhere, and the AUC."""
    one = effect.effect
    if one is None:
        raise SystemExit(f"No {effect.name} to compare")
    return f"{one.first:.0%}", f"{one.second:.0%}", f"{one.auc:.2f} ({one.low:.2f} to {one.high:.2f})"


def perplexity(study: Study) -> str:
    """What the first finding says of both measures."""
    found = stored_measurements(study.run)
    row = None if found is None else found.row("perplexity", ADVERSARIAL)
    scores = study.run.comparison.candidate(ADVERSARIAL).scores["mauve"]
    mauve = f"its MAUVE is the lowest of all, {scores.mean:.3f} ± {scores.sd:.3f}"
    if row is None or row.model is None or row.human is None:
        raise SystemExit("The demo run has no perplexity: mauve-lens demo")
    return (
        f"Adversarial sampling targets the perplexity of the human texts and reaches it: {row.model.value:.1f} ± "
        f"{row.model.sd:.1f} against {row.human.value:.1f} ± {row.human.sd:.1f}. Even so, {mauve}"
    )


def first(study: Study) -> str:
    found = study.look(ADVERSARIAL)
    length, stops = found.flag("length").effect, share_of(found.flag("stop_words"))
    if length is None:
        raise SystemExit("No lengths to compare")
    return f"""## Human perplexity, and nothing else human

*Decoders, Measures, Generation perplexity; then Gap, candidate {ADVERSARIAL}, first orange bar, tab Why.*

{perplexity(study)}. One cluster causes most of the gap: cluster {found.cluster} has {found.model} of its texts
but only {found.human} of the human side, and {found.type_1} of the type I error ({found.label}). The reason: its
texts have {length.first:.0f} words, others {length.second:.0f} (AUC {length.auc:.2f}, {length.low:.2f} to
{length.high:.2f}), and {stops[0]} stop words instead of {stops[1]}. They are sequences of numbers and names, each as
likely as it should be on average.

![Gap of adversarial sampling](pictures/adversarial.png)
"""


def second(study: Study) -> str:
    found = study.look(CONTRASTIVE)
    before, after = study.closed(CONTRASTIVE, found.cluster)
    others = [study.look(name, found.cluster) for name in study.names if name != CONTRASTIVE]
    also = ", ".join(f"{each.model} of {each.candidate}" for each in others if each.model >= 10)
    phrases = ", ".join(f"*{phrase.text}*" for phrase in found.card.cluster_phrases[:6])
    shared = f", and {also}" if also else ""
    return f"""## One over-represented cluster

*Gap, candidate {CONTRASTIVE}; first orange bar; then What would close the gap.*

Cluster {found.cluster} has {found.model} texts of contrastive search, {found.human} human texts{shared}. It accounts
for {found.type_1} of contrastive search's type I error ({found.label}). Its distinctive phrases against neighboring
clusters are {phrases}. With these texts reduced to the human share on the same clusters, MAUVE rises from {before} to
{after}: mean ± sd over seeds [95% over texts].

![What would close the gap of contrastive search](pictures/contrastive.png)
"""


def ending(study: Study) -> int:
    """The cluster that most candidates miss most among those that a truncated end alone tells apart."""
    worst = [study.look(name, error="type_2") for name in study.names]
    flagged = [each.cluster for each in worst if each.flag("truncated").separates]
    if not flagged:
        raise SystemExit("No cluster is told apart by where its texts end")
    return max(set(flagged), key=flagged.count)


def third(study: Study) -> str:
    cluster = ending(study)
    rows = [study.look(name, cluster) for name in study.names]
    here, elsewhere, auc = share_of(rows[0].flag("truncated"))
    lines = "\n".join(f"| {row.candidate} | {row.model} | {row.type_2} | {row.label} |" for row in rows)
    return f"""## Where a text ends

*Clusters, candidate greedy, cluster {cluster}, tab Why.*

One cluster is flagged: a truncated end alone separates cluster {cluster} from all other texts. {here} of its texts stop
in the middle of a sentence; {elsewhere} of all others do (AUC {auc}, for greedy decoding). All texts are cut at 128
tokens, and the last token represents the text, so texts that happen to end with a complete sentence cluster together,
whatever their topic. The cluster has {rows[0].human} human texts:

| candidate | its texts | share of the type II error | stability |
| --- | --- | --- | --- |
{lines}

What a candidate seems to miss or overdo there is where its texts stop, not what they say. Look at a cluster's flags
before you take it for a topic. Comparing whole texts, or cutting both sides at the ends of sentences, removes this one.

![A cluster that ends its sentences](pictures/endings.png)
"""


def stable(study: Study) -> str:
    counts = {name: study.stability(name).label for name in study.names}
    lines = "\n".join(
        f"| {name} | " + " | ".join(str(int((labels == kind).sum())) for kind in ("stable", "unsure", "noise")) + " |"
        for name, labels in counts.items()
    )
    k = len(next(iter(counts.values())))
    return f"""## How many clusters to believe

How many of the {k} clusters of the joint partition, first seed, differ between people and the candidate beyond chance,
under other seeds and other k, too (*Gap*, column stability)?

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
    views = (
        ("adversarial", "gap", {"candidate": ADVERSARIAL}, ()),
        (
            "contrastive",
            "gap",
            {"candidate": CONTRASTIVE, "cluster": study.look(CONTRASTIVE).cluster},
            ("What would close",),
        ),
        ("endings", "clusters", {"candidate": "greedy", "cluster": ending(study)}, ("Why",)),
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "home"
        shutil.copytree(study.run.path, home / "runs" / RUN)
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        with serving(home) as url:
            for name, view, state, tabs in views:
                context = browser.new_context(viewport={"width": 1280, "height": 1100}, color_scheme="light")
                picture(context.new_page(), f"{url}/{view}?{urlencode({'run': RUN, **state})}", tabs, name)
                context.close()
        browser.close()


def picture(page: Page, url: str, tabs: Sequence[str], name: str) -> None:
    app = page.get_by_test_id("stApp")
    page.goto(url)
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=120_000)
    for tab in tabs:
        page.get_by_role("tab", name=tab).click()
        page.get_by_role("tab", name=tab).scroll_into_view_if_needed()
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
partition, first seed. Shares are at mixture weight {WEIGHT}, with 95% bootstrap intervals over texts.
"""
    page = wrapped("\n".join([head, first(study), second(study), third(study), stable(study)]))
    write_atomically(HERE / "findings.md", lambda stream: stream.write(page.encode()))
    pictures(study)


if __name__ == "__main__":
    main()
