"""The workspace runtime server: terminal sessions and child agents that outlive the client that asked for them.

Serves one workspace over a socket that only its own user can reach, and knows nothing of tools or agents: whoever
starts it hands over the fence for commands and the port for child agents.
"""
