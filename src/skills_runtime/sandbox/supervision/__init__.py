"""What runs beside the runtime: a launcher, and a supervisor for each command under way, in processes of their own.

Knows nothing of asyncio nor of the rest of the package: only the standard library is imported, and siblings by
relative names, because a bare interpreter loads this directory alone to start in a few milliseconds.
"""
