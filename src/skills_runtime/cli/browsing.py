"""Opens a page in the browser of whoever sits here, if there is a screen to show it on."""

import sys
import threading
from collections.abc import Mapping

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def has_screen(environ: Mapping[str, str]) -> bool:
    """Whether a browser with windows can be opened; one that takes over the terminal is of no use to a server."""
    return sys.platform in ("darwin", "win32") or any(environ.get(name) for name in _SCREENS)


def open_page(link: str, environ: Mapping[str, str]) -> None:
    """Open a link without waiting for the browser; where there is no screen the printed link is enough."""
    if has_screen(environ):
        threading.Thread(target=_open, args=(link,), daemon=True, name="browser").start()


def _open(link: str) -> None:
    import webbrowser

    webbrowser.open(link, new=2)
