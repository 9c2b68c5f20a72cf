"""Takes secrets out of a text that comes in pieces, wherever it is cut.

What may be the beginning of a secret waits until more of the text tells; nothing else does.
"""

from skills_runtime.safety.redaction.finder import WINDOW, Finder, Found
from skills_runtime.safety.redaction.text import MARK, decoded, encoded

CONTEXT = 256
"""How much of what went out is remembered, for what stands before a secret tells that it is one."""
LONGEST_WAIT = 4096
"""What may be a key for longer than this is taken for one; a known value waits for as long as it is."""

assert LONGEST_WAIT + CONTEXT < WINDOW


class StreamRedactor:
    """Redacts one text; made by `Redactor.stream`."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._kept = b""
        self._done = 0  # this much of what is kept went out already
        self._half = ""

    def feed(self, text: str) -> str:
        """Take in the next piece, and give what may go out now."""
        text = self._half + text
        # A service may cut a character in two: its first half waits for the second.
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        data = self._kept + encoded(text.removesuffix(self._half))
        found = self._finder.found(data)
        wait = min(found.known_wait, found.shape_wait)
        out = self._out(data, found, wait)
        if len(data) - found.shape_wait > LONGEST_WAIT and found.shape_wait < found.known_wait:
            out += self._give_up(data, found)
        else:
            self._keep(data, wait)
        return decoded(out)

    def finish(self) -> str:
        """What still waited; nothing may be fed after this."""
        data = self._kept + encoded(self._half)
        out = self._out(data, Found(self._finder.spans(data), len(data), len(data)), len(data))
        self._kept, self._done, self._half = b"", 0, ""
        return decoded(out)

    def _out(self, data: bytes, found: Found, wait: int) -> bytes:
        """What may go out up to where the text waits; a span that was begun earlier has its mark already."""
        pieces: list[bytes] = []
        place = self._done
        for start, end in found.spans:
            if start >= wait:
                break
            if start >= place:
                pieces += (data[place:start], MARK.encode())
            place = max(place, end)
        pieces.append(data[place:wait])
        self._done = max(place, wait)
        return b"".join(pieces)

    def _keep(self, data: bytes, wait: int) -> None:
        """Remember what waits, with what was given up of it, and a little of what went before."""
        self._kept = _behind(data, max(0, min(self._done, wait) - CONTEXT))
        self._done += len(self._kept) - len(data)

    def _give_up(self, data: bytes, found: Found) -> bytes:
        """Take what waited for too long for a secret, and forget its middle, for any more of it is the same."""
        start = found.shape_wait
        mark = b"" if start < self._done else MARK.encode()
        head = data[: start + LONGEST_WAIT // 2].rstrip(b"\\")
        tail = data[max(len(head), min(found.known_wait, len(data) - CONTEXT)) :]
        left = len(data) - max(self._done, found.known_wait)
        self._kept = _behind(head, max(0, start - CONTEXT)) + tail
        self._done = len(self._kept) - left
        return mark


def _behind(data: bytes, start: int) -> bytes:
    """The data from `start` on; a letter stands for what was before, so that half a word does not look like a word."""
    return b"x" + data[start:] if start else data
