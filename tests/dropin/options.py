"""Every option that decides the clusters and the curve; the curve is drawn as papers draw it."""

import matplotlib.pyplot as plt
import mauve
import numpy as np

out = mauve.compute_mauve(
    p_features=np.load("p.npy"),
    q_features=np.load("q.npy"),
    num_buckets=4,
    pca_max_data=-1,
    kmeans_explained_var=0.95,
    kmeans_num_redo=20,
    kmeans_max_iter=100,
    divergence_curve_discretization_size=15,
    mauve_scaling_factor=2,
    seed=3,
)
plt.plot(out.divergence_curve[:, 1], out.divergence_curve[:, 0])
plt.savefig("curve.png")
plt.close()
