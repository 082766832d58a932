"""Read files into texts with stable ids, prompts and metadata; count and name everything left out."""

from mauve_core.texts.building import corpus_from_table, corpus_from_texts, read_corpus
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.entries import Exclusion
from mauve_core.texts.fields import Fields, guess_fields
from mauve_core.texts.reading import SUFFIXES, read_table
from mauve_core.texts.tables import Table

__all__ = [
    "SUFFIXES",
    "Corpus",
    "Exclusion",
    "Fields",
    "Table",
    "corpus_from_table",
    "corpus_from_texts",
    "guess_fields",
    "read_corpus",
    "read_table",
]
