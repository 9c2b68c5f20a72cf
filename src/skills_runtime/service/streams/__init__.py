"""Logs as streams: one reader for each log that is followed, however many follow it."""

from skills_runtime.engine import Frame, LogTail
from skills_runtime.service.streams.log_stream import Listener, Streams

__all__ = ["Frame", "Listener", "LogTail", "Streams"]
