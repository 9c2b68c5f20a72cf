"""The runtime server of a workspace, as the command line reaches it."""

from skills_runtime.cli.machine import checked_path
from skills_runtime.runtime.client import RuntimeClient


def client_for(workspace_root: str) -> RuntimeClient:
    """A client that starts no server."""
    return RuntimeClient(checked_path(workspace_root, option="--workspace-root"), start=False)
