"""Stored runs for language-model agents: a server of the Model Context Protocol (https://modelcontextprotocol.io).

An agent reads what it is given, so two things are kept apart in all answers. Sentences are the program's own. What
comes from people or files (texts, names, notes, words of clusters) stands in fields of its own, which the schemas mark
as quotations (``quoting.py``); a sentence refers to a candidate as ``[candidate 2]``. Every answer gives scores with
their spread, n and the encoder, and ranks only what was tested.

The server needs the package ``mcp``, an optional extra: this package is imported when it is used.
"""
