"""Other people's text, made fit for the log."""


def well_formed(text: str) -> str:
    """The text with what is not Unicode replaced, so that it can be written; halves of a character are joined."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
