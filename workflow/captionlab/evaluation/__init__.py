"""Sentence suites, caption geometry, lookup reading and statistics."""
