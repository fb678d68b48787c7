"""The user's own CustomResourceDefinitions: their schemas and validation rules, evaluated offline."""

from policycheck.systems.crds.check import Crds
from policycheck.systems.crds.definition import CrdError, load

__all__ = ["CrdError", "Crds", "load"]
