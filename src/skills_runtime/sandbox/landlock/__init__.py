"""The fence of Linux without user namespaces: rules of Landlock and a filter of system calls, with gaps it tells of."""

from skills_runtime.sandbox.landlock.adapter import Landlock

__all__ = ["Landlock"]
