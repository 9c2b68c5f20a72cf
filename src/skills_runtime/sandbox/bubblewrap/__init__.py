"""The fence of Linux with user namespaces, put up by the program `bwrap`."""

from skills_runtime.sandbox.bubblewrap.adapter import Bubblewrap

__all__ = ["Bubblewrap"]
