"""policycheck: will this cluster do what its teams were promised?"""

__version__ = "0.1.0"
