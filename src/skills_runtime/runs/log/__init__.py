"""The event log: one file, one writer, sealed lines, durable commits."""

from skills_runtime.runs.log.chain import Position, read_lines
from skills_runtime.runs.log.checkpoints import Checkpoints
from skills_runtime.runs.log.keys import KeyRing, LogKey
from skills_runtime.runs.log.reader import (
    Authenticity,
    authenticate,
    follow_lines,
    open_for_reading,
    read_events,
    read_verified,
)
from skills_runtime.runs.log.recovery import CHECKPOINTS, LogPorts, RunLock, create_log, open_log, read_log_header
from skills_runtime.runs.log.writer import EventLog

__all__ = [
    "CHECKPOINTS",
    "Authenticity",
    "Checkpoints",
    "EventLog",
    "KeyRing",
    "LogKey",
    "LogPorts",
    "Position",
    "RunLock",
    "authenticate",
    "create_log",
    "follow_lines",
    "open_for_reading",
    "open_log",
    "read_events",
    "read_lines",
    "read_log_header",
    "read_verified",
]
