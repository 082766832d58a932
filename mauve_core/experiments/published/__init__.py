"""The papers' printed figures, and their correlation tables recomputed from them."""
