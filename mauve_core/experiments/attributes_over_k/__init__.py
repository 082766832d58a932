"""What a run's clusters capture of metadata and simple text properties, for several numbers of clusters.

attributes_run(run, columns=["topic"])
    attributes_run(run, others=texts_of_run(run, other_run))  # beside clusters learned on other texts
"""
