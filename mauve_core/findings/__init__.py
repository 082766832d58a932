"""What a run says about its texts, in sentences that claim no more than their tests.

>>> from mauve_core.findings.finding import find  # doctest: +SKIP
>>> for each in find(run, "greedy"):  # doctest: +SKIP
...     print(each.sentence)
"""

from __future__ import annotations
