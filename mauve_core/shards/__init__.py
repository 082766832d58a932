"""Comparisons of corpora that do not fit on one machine: shards of texts or features, and passes of additive sums.

A pass is a set of independent tasks, most of them one shard each. A task reads files, does its work on one thread and
writes one result, so any engine may run it anywhere and again; sums over shards are added in the order of the shards.
Therefore all engines give equal bits, and finished tasks need not be repeated.
"""
