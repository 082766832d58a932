"""Reduction and k-means on a torch device, whole: nothing returns to the host but moments, labels and counts.

NumPy's steps (:mod:`mauve_core.numerics.feature_space.reduction`, :mod:`mauve_core.numerics.kmeans`) spare work that a
device does in no time, and ask after every center, which a device would wait for. So the device has steps of its own:
all restarts of all seeds at once, every distance measured in every iteration. Random numbers, starts and the rules for
ties are those of NumPy's steps. Results differ where rounding decides: between equally good draws of a center, and for
a text that is equally near to two centers.
"""
