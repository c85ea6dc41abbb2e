"""Teachers, their alignment, and the consensus vector of every caption."""
