"""Text as the bytes that are searched, and back."""

MARK = "<redacted>"
"""What stands for a secret that was taken out."""


def encoded(text: str) -> bytes:
    """The text as UTF-8, with the halves of a character joined; what is no character stays what it is."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode(errors="surrogatepass")


def decoded(data: bytes) -> str:
    """The text of these bytes."""
    return data.decode(errors="surrogatepass")
