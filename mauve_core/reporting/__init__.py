"""A run for others to read: one HTML file that opens offline, tables for papers, and a paragraph on methods."""
