"""The demo's tests read texts that come with gensim, which has no wheel for Python 3.14."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("gensim") else ["test_demo.py"]
