"""Skills Runtime: skills in, an auditable run out."""

__version__ = "0.1.0"
