"""Bundles: the files of a skill that a database keeps, as a zip with a fingerprint, checked before and after use."""

from skills_runtime.skills.bundles.budget import Budget
from skills_runtime.skills.bundles.cache import Bundle, Bundles

__all__ = ["Budget", "Bundle", "Bundles"]
