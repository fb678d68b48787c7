"""Static rules over a linked cluster."""
