"""Skills from elsewhere: fetched, looked at, agreed to, put in place whole, locked, and put back again."""

from skills_runtime.skills.archives import ArchiveLimits, unpack
from skills_runtime.skills.install.consents import consented
from skills_runtime.skills.install.fetch import Fetched, Fetcher, FetchRequest, LocalFetcher
from skills_runtime.skills.install.hashing import Hashed, hash_directory
from skills_runtime.skills.install.lockfile import InstallPaths, Lock, LockEntry, project_places, read_lock, user_places
from skills_runtime.skills.install.operations import Installed, installed, verify_installed
from skills_runtime.skills.install.sources import InstallSource, parse_source

__all__ = [
    "ArchiveLimits",
    "FetchRequest",
    "Fetched",
    "Fetcher",
    "Hashed",
    "InstallPaths",
    "InstallSource",
    "Installed",
    "LocalFetcher",
    "Lock",
    "LockEntry",
    "consented",
    "hash_directory",
    "installed",
    "parse_source",
    "project_places",
    "read_lock",
    "unpack",
    "user_places",
    "verify_installed",
]
