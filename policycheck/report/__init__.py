"""Foreign formats out."""
