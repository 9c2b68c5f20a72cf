"""The commands, one file each: their options, their examples, and the few lines that do the work.

A module here imports only what its help needs; the rest is imported when the command runs.
"""
