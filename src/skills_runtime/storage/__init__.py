"""Files at the bottom of everything: atomic writes, locks, access that follows no links, digests.

Knows nothing of runs, skills or settings. Errors of the system stay `OSError`, so that each caller can explain them.
"""
