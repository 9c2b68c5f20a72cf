"""Programs that run inside a sandbox before the command, each alone in a bare interpreter.

Each imports only the standard library, and no sibling.
"""
