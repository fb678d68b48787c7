"""The decision of Kueue's scheduler on a compiled Session."""
