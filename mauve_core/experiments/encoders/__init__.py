"""Score a run's texts under several encoders, and show how far the encoders agree.

encoders_run(run, [parse_encoder("minilm", run.comparison.config.encoder)])
"""
