"""Edges: command line, settings file, and later webhook and live cluster."""
