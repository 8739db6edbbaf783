"""Data sets with known factors, loaded by name."""
