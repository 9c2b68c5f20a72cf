"""Files at the bottom of everything: whole writes, locks, reading that follows no links, digests, removal.

Knows nothing of runs, skills or settings. Errors of the system stay `OSError`, so that each caller can explain them.

To write a file whole or not at all: `write_atomic`; piece by piece: `atomic_file`; one that must be new: `write_new`,
`open_new`; a whole directory: `stage_directory`. To make names durable: `sync_path`, `sync_tree`, `make_directories`.
To remove: `remove_tree`. To digest: `sha256_of` an open file, `sha256_of_path`. To read what others may have put there:
`open_regular`, `read_regular`, `check_size`. (`files`)

To read below a directory without following links: `open_directory`, then `read_below`, `open_below`,
`open_regular_below`, `walk`; to measure it: `disk_usage`. (`nofollow`) Where links may be followed as long as they stay
below: `open_beneath`. (`beneath`)

To keep other processes out: `lock_file`, `lock_directory`, `try_lock`, `release_lock`. (`locks`) To keep processes of
other rights out of a workspace: `try_claim`. (`claims`)

To tell what a file is by its name: `media_type`.
"""

from skills_runtime.storage.beneath import (
    DIRECTORY,
    MAX_LINKS,
    Beneath,
    Opener,
    best_opener,
    follow,
    open_beneath,
    open_root,
    read_link,
)
from skills_runtime.storage.claims import Claim, ClaimKind, Conflict, is_claimed, try_claim
from skills_runtime.storage.files import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    Draft,
    append,
    atomic_file,
    check_size,
    copy_at_most,
    exchange,
    explain_write,
    make_directories,
    open_new,
    open_regular,
    read_at_most,
    read_regular,
    remove_empty,
    remove_tree,
    sha256_of,
    sha256_of_path,
    spread_out,
    stage_directory,
    sync_path,
    sync_tree,
    write_all,
    write_atomic,
    write_new,
)
from skills_runtime.storage.locks import lock_directory, lock_file, release_lock, try_lock
from skills_runtime.storage.media_types import media_type
from skills_runtime.storage.nofollow import (
    ENTERING,
    LISTING,
    Entry,
    Parts,
    disk_usage,
    error_reason,
    first_names,
    mode_below,
    open_below,
    open_directory,
    open_regular_below,
    read_below,
    relative_parts,
    walk,
)

__all__ = [
    "DIRECTORY",
    "ENTERING",
    "LISTING",
    "MAX_LINKS",
    "PRIVATE_DIRECTORY",
    "PRIVATE_FILE",
    "Beneath",
    "Claim",
    "ClaimKind",
    "Conflict",
    "Draft",
    "Entry",
    "Opener",
    "Parts",
    "append",
    "atomic_file",
    "best_opener",
    "check_size",
    "copy_at_most",
    "disk_usage",
    "error_reason",
    "exchange",
    "explain_write",
    "first_names",
    "follow",
    "is_claimed",
    "lock_directory",
    "lock_file",
    "make_directories",
    "media_type",
    "mode_below",
    "open_below",
    "open_beneath",
    "open_directory",
    "open_new",
    "open_regular",
    "open_regular_below",
    "open_root",
    "read_at_most",
    "read_below",
    "read_link",
    "read_regular",
    "relative_parts",
    "release_lock",
    "remove_empty",
    "remove_tree",
    "sha256_of",
    "sha256_of_path",
    "spread_out",
    "stage_directory",
    "sync_path",
    "sync_tree",
    "try_claim",
    "try_lock",
    "walk",
    "write_all",
    "write_atomic",
    "write_new",
]
