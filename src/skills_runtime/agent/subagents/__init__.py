"""Sub-agents: runs that runs have begun."""
