"""Generative recall: the share of human texts that a candidate could have written."""

from __future__ import annotations

from mauve_core.experiments.text_measures.manifold import ManifoldMeasure


class Recall(ManifoldMeasure):
    """Share of the human side's features within the manifold of the candidate's."""

    name = "recall"
    title = "Recall"
    group = "closeness"
    description = "The share of human texts whose features lie within the manifold of the candidate's."
    larger = "a candidate that covers more of human text"
    of_human = True
