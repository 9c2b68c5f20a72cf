"""Processes beside the runtime: a launcher, and a supervisor per running command.

Without asyncio and without the rest of the package: a bare interpreter loads this directory alone, to start within
milliseconds, so it imports only the standard library and siblings by relative names.
"""
