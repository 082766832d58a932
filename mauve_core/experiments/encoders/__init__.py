"""Score a run's texts under several encoders, and show how far the encoders agree.

encoders_run(run, [parse_encoder("minilm", run.comparison.config.encoder)])
"""

from mauve_core.base.config import USUAL_ENCODERS as USUAL
from mauve_core.experiments.encoders.evaluation import encoders_run
from mauve_core.experiments.encoders.references import Reference, references
from mauve_core.experiments.encoders.request import offered_encoders, parse_encoder, usual_encoders, written
from mauve_core.experiments.encoders.table import EncoderResult, EncoderTable, Reversal, stored_encoders

__all__ = [
    "USUAL",
    "EncoderResult",
    "EncoderTable",
    "Reference",
    "Reversal",
    "encoders_run",
    "offered_encoders",
    "parse_encoder",
    "references",
    "stored_encoders",
    "usual_encoders",
    "written",
]
