"""The picture of diversity: counts, and both kinds of answers with their intervals; the table behind it."""

from __future__ import annotations

import math
from dataclasses import replace

from mauve_core.experiments.diversity import Contrast, Diversity, RunDiversity
from mauve_core.figures.diversity import diversity_frame
from mauve_core.numerics.statistics.block_means import Mean
from mauve_core.numerics.statistics.mode_count import ModeCount

CONTRAST = Contrast(Mean(0.2, 0.1, 0.4), Mean(0.9, 0.8, 0.95))
COUNT = ModeCount(4.0, 3.0, 6.0, 3.5, 0.25)
ENDLESS = ModeCount(math.inf, math.inf, math.inf, 8.0, 0.0)
OWN = Diversity(40, 40, 8, COUNT, ENDLESS, CONTRAST, CONTRAST, CONTRAST, CONTRAST, 13.0, 12.0, 14.0)
FOUND = RunDiversity(None, {"<b>": OWN, "other": replace(OWN, modes=ENDLESS)}, ("once",), {}, ())


def test_the_table_has_every_number() -> None:
    frame = diversity_frame(FOUND)
    assert len(frame) == 2 * (2 + 4)
    row = frame[(frame["candidate"] == "<b>") & (frame["measure"] == "cosine distance")].iloc[0]
    assert row["one_prompt":].tolist() == [0.2, 0.1, 0.4, 0.9, 0.8, 0.95]
    modes = frame[(frame["candidate"] == "<b>") & (frame["measure"] == "modes")].iloc[0]
    assert modes["one_prompt":"one_prompt_high"].tolist() == [4.0, 3.0, 6.0]
    assert math.isnan(modes["different_prompts"])
    assert diversity_frame(replace(FOUND, candidates={})).empty
