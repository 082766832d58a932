"""Output of a run for readers: an HTML report that opens offline, tables for papers, and a methods paragraph."""
