"""The numbers we hold, measured: `make bench` runs all of them, each in a process of its own."""
