"""Captions of a chunk as tokens, with the manifest that pins them."""
