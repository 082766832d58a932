"""Human judgments: which of two texts a rater prefers, with storage, plans, rankings and correlations.

The study of JMLR 2023, section 6.4 and appendix E: a rater reads a prompt and two continuations, A (left) and B
(right), and answers three questions with one of five options. A Bradley-Terry model turns the answers into scores.
"""
