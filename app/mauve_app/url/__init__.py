"""The current view, kept in the URL: run, candidate, partition, cluster, mixture weight, lasso, and more.

The URL is the single source of truth: links share the view, reloads lose nothing, and all pages show the same cluster.
``parameters`` declares what the URL holds and how its values are written, ``session`` changes it, and ``bound`` draws
widgets that follow it. Streamlit's own ``bind="query-params"`` removes a parameter when its widget leaves the page
(losing the chosen cluster on a page that does not list it) and does not cover charts and tables.
"""

from __future__ import annotations
