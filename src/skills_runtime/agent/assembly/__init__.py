"""From settings to runs, and to what they work with.

Configuration is imported where it is used: reading settings needs pydantic, importing an agent does not.
"""
