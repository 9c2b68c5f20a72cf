"""What a command goes through inside its sandbox before it is itself: files that a bare interpreter runs alone.

Each imports only the standard library, and no sibling.
"""
