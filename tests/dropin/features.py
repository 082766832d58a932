"""Features that were made before."""

import mauve
import numpy as np

out = mauve.compute_mauve(p_features=np.load("p.npy"), q_features=np.load("q.npy"), num_buckets=4, verbose=False)
