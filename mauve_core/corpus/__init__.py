"""Read files into texts with stable ids, prompts and metadata; count and name everything left out."""

from mauve_core.corpus.building import corpus_from_table, corpus_from_texts, read_corpus
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.entries import Exclusion
from mauve_core.corpus.fields import Fields, guess_fields
from mauve_core.corpus.formats import SUFFIXES
from mauve_core.corpus.reading import read_table
from mauve_core.corpus.table import Table

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
