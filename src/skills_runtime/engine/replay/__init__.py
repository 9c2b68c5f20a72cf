"""Replaying runs: what today's code would do with the same answers and results."""

from skills_runtime.engine.replay.replaying import Divergence, replay

__all__ = ["Divergence", "replay"]
