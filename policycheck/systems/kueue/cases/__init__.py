"""Handlers of recorded situations, one module for each way of asking."""
