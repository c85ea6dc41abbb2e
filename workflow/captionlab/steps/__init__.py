"""One module a step, each also a command: python -m captionlab <step>."""
