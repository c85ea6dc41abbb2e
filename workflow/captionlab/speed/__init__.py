"""The benchmark stage: our work and a peer's, timed side by side on one machine."""
