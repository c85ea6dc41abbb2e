"""Checks of claims: each takes the evidence and a claim's arguments and returns a finding."""
