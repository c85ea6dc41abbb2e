"""Embedded captions and sentence-pair suites, written by a scene grammar of our own."""
