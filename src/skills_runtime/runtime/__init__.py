"""The client of the workspace runtime server: see `skills_runtime.runtime.client`."""

from skills_runtime.runtime.client import RuntimeClient

__all__ = [
    "RuntimeClient",
]
