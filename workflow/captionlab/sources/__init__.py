"""Where captions, suites and published files come from."""
