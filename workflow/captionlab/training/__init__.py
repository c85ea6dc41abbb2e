"""Batch order, losses, schedule, optimiser, loop and checkpoints; knows no particular model."""
