"""Files at the bottom of everything: whole writes, locks, reading that follows no links, digests, removal.

Knows nothing of runs, skills or settings. Errors of the system stay `OSError`, so that each caller can explain them.

To write a file whole or not at all: `write_atomic`; piece by piece: `atomic_file`; one that must be new: `write_new`,
`open_new`; a whole directory: `stage_directory`. To make names durable: `sync_path`, `sync_tree`, `create_directories`.
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
    OpenedFile,
    Opener,
    open_beneath,
    open_root,
    read_link,
    resolve_link,
    select_opener,
)
from skills_runtime.storage.claims import Claim, ClaimKind, Conflict, is_claimed, try_claim
from skills_runtime.storage.files import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    StagedFile,
    append,
    atomic_file,
    check_size,
    copy_at_most,
    create_directories,
    exchange_paths,
    mark_children_unrelated,
    open_new,
    open_regular,
    read_at_most,
    read_regular,
    remove_empty_directories,
    remove_tree,
    sha256_of,
    sha256_of_path,
    stage_directory,
    sync_path,
    sync_tree,
    wrap_write_errors,
    write_all,
    write_atomic,
    write_new,
)
from skills_runtime.storage.locks import lock_directory, lock_file, release_lock, try_lock
from skills_runtime.storage.media_types import media_type
from skills_runtime.storage.nofollow import (
    OPEN_TO_LIST,
    OPEN_TO_TRAVERSE,
    Entry,
    Parts,
    disk_usage,
    error_reason,
    list_names,
    open_below,
    open_directory,
    open_regular_below,
    read_below,
    relative_parts,
    stat_mode_below,
    walk,
)

__all__ = [
    "DIRECTORY",
    "MAX_LINKS",
    "OPEN_TO_LIST",
    "OPEN_TO_TRAVERSE",
    "PRIVATE_DIRECTORY",
    "PRIVATE_FILE",
    "Claim",
    "ClaimKind",
    "Conflict",
    "Entry",
    "OpenedFile",
    "Opener",
    "Parts",
    "StagedFile",
    "append",
    "atomic_file",
    "check_size",
    "copy_at_most",
    "create_directories",
    "disk_usage",
    "error_reason",
    "exchange_paths",
    "is_claimed",
    "list_names",
    "lock_directory",
    "lock_file",
    "mark_children_unrelated",
    "media_type",
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
    "remove_empty_directories",
    "remove_tree",
    "resolve_link",
    "select_opener",
    "sha256_of",
    "sha256_of_path",
    "stage_directory",
    "stat_mode_below",
    "sync_path",
    "sync_tree",
    "try_claim",
    "try_lock",
    "walk",
    "wrap_write_errors",
    "write_all",
    "write_atomic",
    "write_new",
]
