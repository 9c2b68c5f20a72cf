"""Where skills are found without anybody naming the place: the project, the user, the system, packages, plugins."""

from skills_runtime.skills.discovery.discover import (
    Discovery,
    build_sources,
    discover,
    is_trusted,
    untrusted_spaces_problem,
)
from skills_runtime.skills.discovery.places import DiscoveryPaths, Root, project_root, resolve_discovery_paths
from skills_runtime.skills.discovery.trust import TrustStore

__all__ = [
    "Discovery",
    "DiscoveryPaths",
    "Root",
    "TrustStore",
    "build_sources",
    "discover",
    "is_trusted",
    "project_root",
    "resolve_discovery_paths",
    "untrusted_spaces_problem",
]
