"""Install skills from other sources: fetch, scan, confirm, install atomically, lock, update and roll back."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.skills.archives import ArchiveLimits, unpack
from skills_runtime.skills.install.consents import consented
from skills_runtime.skills.install.fetch import Fetched, Fetcher, FetchRequest, LocalFetcher
from skills_runtime.skills.install.hashing import Hashed, hash_directory
from skills_runtime.skills.install.lockfile import InstallPaths, Lock, LockEntry, project_places, read_lock, user_places
from skills_runtime.skills.install.operations import Installed, installed, verify_installed
from skills_runtime.skills.install.sources import InstallSource, parse_source

if TYPE_CHECKING:
    from skills_runtime.skills.install.consents import read_consents
    from skills_runtime.skills.install.fetch import SkillFetcher
    from skills_runtime.skills.install.git import (
        FETCH_SECONDS,
        MAX_OUTPUT_BYTES,
        MAX_PACK_BYTES,
        MAX_PACK_FILES,
        GitCommand,
        GitResult,
    )
    from skills_runtime.skills.install.operations import (
        find_previous_version,
        install_prepared,
        remove_skills,
        roll_back,
        write_lock_from_installed,
    )
    from skills_runtime.skills.install.prepare import (
        Preparation,
        Prepared,
        SignaturePolicy,
        locked_skills,
        refuse_malicious,
    )
    from skills_runtime.skills.install.signatures import Signer
    from skills_runtime.skills.install.sources import ArchiveSource, GitSource, LocalSource
    from skills_runtime.skills.install.transaction import finish_interrupted, open_work_directory
    from skills_runtime.skills.install.web import Reach

__getattr__ = lazy_names(
    __name__,
    {
        "consents": "read_consents",
        "fetch": "SkillFetcher",
        "git": "FETCH_SECONDS GitCommand GitResult MAX_OUTPUT_BYTES MAX_PACK_BYTES MAX_PACK_FILES",
        "operations": "find_previous_version install_prepared remove_skills roll_back write_lock_from_installed",
        "prepare": "Preparation Prepared SignaturePolicy locked_skills refuse_malicious",
        "signatures": "Signer",
        "sources": "ArchiveSource GitSource LocalSource",
        "transaction": "finish_interrupted open_work_directory",
        "web": "Reach",
    },
)

__all__ = [
    "FETCH_SECONDS",
    "MAX_OUTPUT_BYTES",
    "MAX_PACK_BYTES",
    "MAX_PACK_FILES",
    "ArchiveLimits",
    "ArchiveSource",
    "FetchRequest",
    "Fetched",
    "Fetcher",
    "GitCommand",
    "GitResult",
    "GitSource",
    "Hashed",
    "InstallPaths",
    "InstallSource",
    "Installed",
    "LocalFetcher",
    "LocalSource",
    "Lock",
    "LockEntry",
    "Preparation",
    "Prepared",
    "Reach",
    "SignaturePolicy",
    "Signer",
    "SkillFetcher",
    "consented",
    "find_previous_version",
    "finish_interrupted",
    "hash_directory",
    "install_prepared",
    "installed",
    "locked_skills",
    "open_work_directory",
    "parse_source",
    "project_places",
    "read_consents",
    "read_lock",
    "refuse_malicious",
    "remove_skills",
    "roll_back",
    "unpack",
    "user_places",
    "verify_installed",
    "write_lock_from_installed",
]
