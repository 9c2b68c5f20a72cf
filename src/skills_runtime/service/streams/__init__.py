"""Logs as streams: one reader for each log that is followed, however many follow it."""

from skills_runtime.service.streams.hub import Streams
from skills_runtime.service.streams.listener import Listener
from skills_runtime.service.streams.tail import Frame, LogTail

__all__ = ["Frame", "Listener", "LogTail", "Streams"]
