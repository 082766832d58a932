"""Generative precision: the share of a candidate's texts that look human."""

from __future__ import annotations

from mauve_core.experiments.text_measures.manifold import ManifoldMeasure


class Precision(ManifoldMeasure):
    """Share of the candidate's features within the manifold of the human side's."""

    name = "precision"
    title = "Precision"
    group = "closeness"
    description = (
        "The share of the candidate's texts whose features lie within the manifold of human text. Read it with recall: "
        "gibberish can score as high as people, or higher."
    )
    larger = "more texts that look human"
    of_human = False
