"""A report's headings and notes in the words of the run's items; names of candidates and clusters stay as they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from mauve_core.base.words import Words
from mauve_core.reporting.blocks import Block, Cards, Chart, Part, Remarks, Section, Table
from mauve_core.scoring.tables import HUMAN_VS_HUMAN


def section_said(section: Section, words: Words, names: Collection[str]) -> Section:
    """Return the section as it is said of these items.

    Parameters
    ----------
    names : collection of str
        What people have named, which may hold any words.
    """
    title = words.said(section.title, names)
    return replace(section, title=title, blocks=tuple(_said(block, words, names) for block in section.blocks))


def _said(block: Block | Part, words: Words, names: Collection[str]) -> Block | Part:
    if isinstance(block, Part):
        return replace(block, blocks=tuple(_block_said(each, words, names) for each in block.blocks))
    return _block_said(block, words, names)


def _block_said(block: Block, words: Words, names: Collection[str]) -> Block:
    def say(sentence: str) -> str:
        return words.said(sentence, names)

    if isinstance(block, Chart):
        return replace(block, title=say(block.title), note=say(block.note))
    if isinstance(block, Table):
        rows = tuple(tuple(_cell(each, words) for each in row) for row in block.rows)
        columns = tuple(each if each in names else say(each) for each in block.columns)
        return replace(block, title=say(block.title), note=say(block.note), columns=columns, rows=rows)
    if isinstance(block, Remarks):
        return replace(block, lines=tuple(map(say, block.lines)))
    return replace(block, title=say(block.title)) if isinstance(block, Cards) else block


def _cell(cell: str, words: Words) -> str:
    """A cell is data, unless it names the P side."""
    return words.said(cell) if cell == HUMAN_VS_HUMAN else words.source(cell)
