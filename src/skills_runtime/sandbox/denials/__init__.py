"""Says whether the fence stopped a command, and widens a policy by the least that would have helped.

Read `judging.denials_of` first, then `granting.granted`. Nothing here starts or asks anything.
"""

from skills_runtime.sandbox.denials.forbidden import control_directories, why_not_host, why_not_path
from skills_runtime.sandbox.denials.granting import combined, granted, refuse_ungrantable
from skills_runtime.sandbox.denials.judging import denials_of
from skills_runtime.sandbox.denials.surroundings import NoSurroundings, ThisMachine
from skills_runtime.sandbox.denials.values import (
    Aftermath,
    Certainty,
    Denial,
    Grant,
    LimitName,
    RaisedLimit,
    Surroundings,
    What,
)

__all__ = [
    "Aftermath",
    "Certainty",
    "Denial",
    "Grant",
    "LimitName",
    "NoSurroundings",
    "RaisedLimit",
    "Surroundings",
    "ThisMachine",
    "What",
    "combined",
    "control_directories",
    "denials_of",
    "granted",
    "refuse_ungrantable",
    "why_not_host",
    "why_not_path",
]
