"""Deliberate changes to texts, to test what a score notices (ICLR 2023, section 6.2).

perturb(corpus.texts, corpus.ids, parse_perturbation("drop-articles@0.5"), seed=0)
"""

from mauve_core.corpus.perturbations.applying import Perturbed, perturb
from mauve_core.corpus.perturbations.kinds import PERTURBATIONS, parse_perturbation
from mauve_core.corpus.perturbations.perturbation import CONTROL, Parameter, Perturbation, PerturbationKind, usage

__all__ = [
    "CONTROL",
    "PERTURBATIONS",
    "Parameter",
    "Perturbation",
    "PerturbationKind",
    "Perturbed",
    "parse_perturbation",
    "perturb",
    "usage",
]
