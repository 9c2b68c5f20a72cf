"""The event log: one file, one writer, sealed lines, durable commits."""

from skills_runtime.runs.log.chain import Position
from skills_runtime.runs.log.keys import KeyRing, LogKey
from skills_runtime.runs.log.opening import LogPorts, RunLock, create_log, open_log
from skills_runtime.runs.log.reader import Authenticity, authenticate, follow_lines, read_events, read_verified
from skills_runtime.runs.log.writer import EventLog

__all__ = [
    "Authenticity",
    "EventLog",
    "KeyRing",
    "LogKey",
    "LogPorts",
    "Position",
    "RunLock",
    "authenticate",
    "create_log",
    "follow_lines",
    "open_log",
    "read_events",
    "read_verified",
]
