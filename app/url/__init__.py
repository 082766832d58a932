"""What the reader is looking at, kept in the URL: run, candidate, partition, cluster, mixture weight, lasso, and more.

The URL is the single source of truth: a link shows a collaborator the same view, a reload loses nothing, and a cluster
chosen in one view is the one chosen in the others. ``parameters`` declares what the URL holds, ``codecs`` read and
write its values, ``session`` changes it, and ``bound`` draws the widgets that follow it. Streamlit's own
``bind="query-params"`` does not serve, because it removes a parameter from the URL when the widget leaves the page (a
chosen cluster would be lost on a page that does not list it), and because charts and tables cannot be bound.
"""
