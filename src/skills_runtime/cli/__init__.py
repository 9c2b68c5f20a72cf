"""The command line: one file per command, one program behind three names."""
