"""Frames, published numbers and everything that is rendered from result JSON."""
