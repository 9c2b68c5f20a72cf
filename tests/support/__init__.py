"""What several tests share."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The checkout."""

SOURCES = ROOT / "src"
"""Where the packages live."""
