"""Where skills are found without anybody naming the place: the project, the user, the system, packages, plugins."""

from skills_runtime.skills.discovery.discover import (
    Discovery,
    discover,
    discovered_sources,
    is_trusted,
    untrusted_spaces,
)
from skills_runtime.skills.discovery.places import Places, Root, places_of, project_root
from skills_runtime.skills.discovery.trust import TrustStore

__all__ = [
    "Discovery",
    "Places",
    "Root",
    "TrustStore",
    "discover",
    "discovered_sources",
    "is_trusted",
    "places_of",
    "project_root",
    "untrusted_spaces",
]
