"""OpenAI-compatible servers: one door for all requests, their keys, and what an answer with embeddings must hold."""
