"""Fingerprint, identity, census and audit."""
