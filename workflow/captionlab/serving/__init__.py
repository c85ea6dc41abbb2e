"""Export, parity and the model card."""
