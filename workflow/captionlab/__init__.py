"""The library behind the workflow: from caption chunks to the tables of a model card."""
