"""What a candidate's texts have more or less of than the human ones, in sentences that were tested on other texts.

>>> from mauve_core.analysis.findings.finding import find  # doctest: +SKIP
>>> for each in find(run, "greedy"):  # doctest: +SKIP
...     print(each.sentence)
"""
