"""Helpers shared by several tests."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The checkout."""

SOURCES = ROOT / "src"
"""The directory of the packages."""
