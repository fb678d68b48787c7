"""Foreign formats in: one package a system."""
