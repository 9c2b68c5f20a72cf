"""What a command goes through before it is itself: it gives up rights one after the other, then becomes the command.

Only the standard library is imported, and siblings by relative names: a bare interpreter loads this directory alone.
"""
