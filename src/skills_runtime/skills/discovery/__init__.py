"""Discover skill directories that no setting names: of the project, the user, the system, packages and plugins."""

from skills_runtime.skills.discovery.discover import (
    Discovery,
    build_sources,
    build_trusted_sources,
    build_untrusted_sources,
    build_untrusted_spaces_problem,
    discover,
    is_trusted,
)
from skills_runtime.skills.discovery.roots import DiscoveryPaths, Root, find_project_root, resolve_discovery_paths
from skills_runtime.skills.discovery.trust import TrustedPaths, TrustStore

__all__ = [
    "Discovery",
    "DiscoveryPaths",
    "Root",
    "TrustStore",
    "TrustedPaths",
    "build_sources",
    "build_trusted_sources",
    "build_untrusted_sources",
    "build_untrusted_spaces_problem",
    "discover",
    "find_project_root",
    "is_trusted",
    "resolve_discovery_paths",
]
