"""The filter of system calls: our own program for the kernel's packet filter, made without any library."""

from skills_runtime.sandbox.seccomp.program import ARCHITECTURES, Permitted, seccomp_program

__all__ = ["ARCHITECTURES", "Permitted", "seccomp_program"]
