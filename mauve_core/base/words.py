"""What the items of a comparison are called: human texts, real images.

Sentences are written for texts, once. :meth:`Words.said` says them of items of another kind. It is for sentences of the
program alone, before names and texts from people and files are filled in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from mauve_core.base.config import HUMAN


@dataclass(frozen=True)
class Words:
    """Nouns and verbs for one kind of item.

    Attributes
    ----------
    item, items : str
        "text", "texts".
    reference, references : str
        What the P side is called before its items and as a noun: "human", "humans"; "real", "real images".
    group : str
        What items that belong together share: "prompt", "id".
    phrases : mapping of str to str
        What else is said otherwise, by what is said of texts; longer phrases come before their parts.
    """

    item: str
    items: str
    reference: str = "human"
    references: str = "humans"
    group: str = "prompt"
    phrases: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference_items(self) -> str:
        """``human texts``."""
        return f"{self.reference} {self.items}"

    @property
    def one(self) -> str:
        """``a text``, ``an image``."""
        return f"{'an' if self.item[0] in 'aeiou' else 'a'} {self.item}"

    def against(self, source: str) -> Words:
        """Return the words for texts of P that ``source`` wrote, as in ``Corpus.source``; these if it is empty."""
        if not source or self != TEXTS:
            return self
        return replace(self, reference="reference", references="the reference", phrases=_OF_A_REFERENCE)

    @property
    def halves(self) -> str:
        """``human vs. human``: one part of the items of P against another."""
        return f"{self.reference} vs. {self.reference}"

    @property
    def slots(self) -> dict[str, str]:
        """What fills each slot of a sentence: ``items``, ``reference_items``; ``Items`` where it begins one."""
        names = "item", "items", "one", "reference", "references", "reference_items", "group", "halves"
        found = {name: str(getattr(self, name)) for name in names}
        return found | {name.capitalize(): each.capitalize() for name, each in found.items()}

    def fill(self, sentence: str) -> str:
        """Fill the slots of a sentence of the program: ``The {items} are compared.``"""
        return sentence.format_map(self.slots)

    def count(self, n: int) -> str:
        """``1 text``, ``2,000 texts``."""
        return f"{n:,} {self.item if n == 1 else self.items}"

    def source(self, name: str) -> str:
        """What a source is called: the P side by its own word, ``real`` for images; a candidate by its name."""
        return self.reference if name == HUMAN else name

    def said(self, sentence: str, names: Collection[str] = ()) -> str:
        """Say of these items what a sentence says of texts; words in “quotes” and ``names`` stay."""
        if not self._pairs:
            return sentence
        kept = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True) if name in sentence]
        pattern = re.compile("|".join([*kept, self._pattern.pattern]), re.IGNORECASE) if kept else self._pattern
        return pattern.sub(lambda found: found[0] if found[0] in names else self._said_of(found), sentence)

    @cached_property
    def _pairs(self) -> dict[str, str]:
        """What replaces what, in lower case; empty for human texts."""
        plain = {"texts": self.items, "text": self.item, "human": self.reference}
        return {**self.phrases, **{old: new for old, new in plain.items() if old != new}}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("“[^”]*”|" + "|".join(rf"\b{re.escape(old)}\b" for old in self._pairs), re.IGNORECASE)

    def _said_of(self, found: re.Match[str]) -> str:
        old = found[0]
        new = self._pairs.get(old.lower(), old)
        return new[:1].upper() + new[1:] if old[:1].isupper() else new


TEXTS = Words("text", "texts")

_OF_A_REFERENCE = {
    "the model writes what humans don't": "the model writes what the reference does not",
    "humans write what": "the reference has what",
    "people do": "the reference does",
    "humans": "the reference",
    "people": "the reference",
}


def real_items(item: str, items: str) -> Words:
    """Return the words for items that nobody writes: real ones are compared with those that a model makes.

    Parameters
    ----------
    item, items : str
        "image", "images".
    """
    real, article = f"real {items}", "an" if item[0] in "aeiou" else "a"
    phrases = {
        "what do people and models write, and how often does each write it": f"what do {real} and a model's show, and "
        "how often",
        "where do human and model texts differ, and what do those texts say": f"where do {real} and a model's differ, "
        "and what do those show",
        "where do human and model texts lie, and what do the texts of an area say": f"where do {real} and a model's "
        "lie, and what do those of an area show",
        "between human and model texts": f"between {real} and a model's",
        "human texts and a model's": f"{real} and a model's",
        "within prompts they share": f"among {items} of ids they share",
        "within prompts": f"among {items} of one id",
        "within a prompt if the sides share prompts": f"among {items} of one id if the sides share ids",
        "to read the texts of a cluster": f"to see the {items} of a cluster",
        "to read the cluster's texts": f"to see the cluster's {items}",
        "to read its texts": f"to see its {items}",
        "to read its text": "to see it larger",
        "both sides write as much of it": "both sides show as much of it",
        "both sides write as much": "both sides have as much",
        "one side writes of its cluster": "one side has in its cluster",
        "humans write what the model misses": f"{real} show what the model misses",
        "the model writes what humans don't": f"the model shows what {real} don't",
        "human corpus": f"set of {real}",
        "a candidate that writes like people": f"a candidate like {real}",
        "than people": f"than {real}",
        "it writes more of it": "it shows more of it",
        "it writes less": "it shows less",
        "texts say": f"{items} are",
        "of human text": f"of {real}",
        "on the human side": f"among the {real}",
        "human side": real,
        "reads every text": f"sees every {item}",
        "an encoder has not read yet": "an encoder has not seen yet",
        "humans write what": f"{real} show what",
        "which decoder should a model use, and how should it be set": f"in what way do a model's {items} differ",
        "decoders": "measures",
        "good decoder": "good model",
        "repetition and length": "diversity",
        "on purpose, for example by shuffling words or dropping articles, and": "on purpose and",
        "what people never write": f"what {real} never show",
        "read the texts behind": f"see the {items} behind",
        "read one text": f"look at one {item}",
        "prompts": "ids",
        "prompt": "id",
        "written": "made",
        "wrote": "made",
        "write": "make",
        "a text": f"{article} {item}",
        "writing": items,
        "writes": "makes",
        "humans": real,
        "people": real,
    }
    return Words(item, items, "real", real, "id", phrases)
