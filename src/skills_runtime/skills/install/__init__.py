"""Skills from elsewhere: fetched, looked at, agreed to, put in place whole, locked, and put back again."""

from skills_runtime.skills.archives import ArchiveLimits, unpack
from skills_runtime.skills.install.consents import consented
from skills_runtime.skills.install.fetching import Fetched, Fetcher, LocalFetcher, Wanted
from skills_runtime.skills.install.hashing import Hashed, hash_directory
from skills_runtime.skills.install.lockfile import Lock, LockEntry, Places, project_places, read_lock, user_places
from skills_runtime.skills.install.operations import Installed, installed, verify
from skills_runtime.skills.install.sources import Source, parse_source

__all__ = [
    "ArchiveLimits",
    "Fetched",
    "Fetcher",
    "Hashed",
    "Installed",
    "LocalFetcher",
    "Lock",
    "LockEntry",
    "Places",
    "Source",
    "Wanted",
    "consented",
    "hash_directory",
    "installed",
    "parse_source",
    "project_places",
    "read_lock",
    "unpack",
    "user_places",
    "verify",
]
