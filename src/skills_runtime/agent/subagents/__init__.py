"""Sub-agents: runs started by other runs."""
