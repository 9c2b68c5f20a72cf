"""The old name of `skills_runtime`, for the imports that documents and programs still use."""
