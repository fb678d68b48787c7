"""Faults put into the good example cluster, one at a time, and what the rules make of them."""
