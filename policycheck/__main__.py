"""``python -m policycheck``."""

from policycheck.adapters.cli import script

if __name__ == "__main__":
    script()
