"""The workspace runtime server: terminal sessions and child agents that outlive their client.

Serves one workspace over a socket that only its own user can reach. Knows nothing of tools or agents: its caller passes
the sandbox for commands and the port for child agents.
"""

from skills_runtime.processes.server.client import connect, read_server_info, report_ready, send_request, start_server
from skills_runtime.processes.server.directory import SERVER, SOCKET, NoServer, RuntimeDirectory
from skills_runtime.processes.server.registry import end_orphans
from skills_runtime.processes.server.runtime_server import DEFAULT_IDLE_SECONDS, RuntimeServer, ServerInfo

__all__ = [
    "DEFAULT_IDLE_SECONDS",
    "SERVER",
    "SOCKET",
    "NoServer",
    "RuntimeDirectory",
    "RuntimeServer",
    "ServerInfo",
    "connect",
    "end_orphans",
    "read_server_info",
    "report_ready",
    "send_request",
    "start_server",
]
