"""The fence around processes: adapters of the port `Sandbox`."""

from skills_runtime.sandbox.no_fence import NoFence
from skills_runtime.sandbox.unfenced import Unfenced

__all__ = ["NoFence", "Unfenced"]
