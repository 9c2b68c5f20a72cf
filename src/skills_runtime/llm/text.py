"""What providers explain, made fit to be written down."""

from skills_runtime.text import well_formed

LONGEST_TOLD = 500
"""Characters of a provider's explanation that are kept."""
SHORTEST_SECRET = 8
"""Anything shorter would turn up in ordinary words."""


def one_line(text: str, *, limit: int = LONGEST_TOLD, secret: str = "") -> str:
    """What somebody explained, as one line of bounded length without the secret."""
    if len(secret) >= SHORTEST_SECRET:
        text = text.replace(secret, "***")
    line = " ".join(well_formed(text[: 2 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
