"""The old name of `skills_runtime.runtime`."""
