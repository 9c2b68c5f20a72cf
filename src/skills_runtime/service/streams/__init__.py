"""Event streams: one reader per followed log, shared by all its listeners."""

from skills_runtime.engine import Frame, LogTail
from skills_runtime.service.streams.log_stream import Listener, Streams

__all__ = ["Frame", "Listener", "LogTail", "Streams"]
