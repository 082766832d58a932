"""What the reader is looking at, kept in the URL: run, candidate, partition, cluster, mixture weight, lasso, and more.

The URL is the single truth, so that a link shows a collaborator the same view, a reload loses nothing, and a cluster
chosen in one view is the one chosen in the others. ``parameters`` declares what it holds, ``session`` reads and
changes it, ``bound`` draws widgets that follow it. Streamlit's own ``bind="query-params"`` does not serve: it removes a
parameter when its widget leaves the page, so that a chosen cluster is lost on the way to a page without its list, it
writes the titles of options, and charts, tables and fallbacks of a run have no part in it.
"""
