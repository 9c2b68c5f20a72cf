"""Benchmarks with bounds: `make bench` runs each in a process of its own."""
