"""How large a bundle may be, packed and unpacked."""

import msgspec

from skills_runtime.skills.install.archives import ArchiveLimits

_EVERY_ENTRY = 65_535
"""More than a zip can list; too many files are refused by us, with the right code."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a bundle; what is not said follows from `max_bytes`."""

    max_bytes: int = 1 << 20
    extracted: int | None = None
    files: int | None = None
    single_file: int | None = None
    ratio: int = 100
    """How many times its packed size a file of more than a megabyte may have."""

    @property
    def max_extracted_bytes(self) -> int:
        """The largest unpacked bundle."""
        return self.extracted if self.extracted is not None else 16 * self.max_bytes

    @property
    def max_files(self) -> int:
        """The most entries of a bundle."""
        return self.files if self.files is not None else 4096

    @property
    def max_single_file_bytes(self) -> int:
        """The largest file of a bundle."""
        return self.single_file if self.single_file is not None else 8 * self.max_bytes

    @property
    def for_reading(self) -> ArchiveLimits:
        """What holds for the archive as such; sizes and numbers are looked at one by one."""
        return ArchiveLimits(
            archive_bytes=self.max_bytes,
            members=_EVERY_ENTRY,
            file_bytes=self.max_single_file_bytes,
            total_bytes=self.max_extracted_bytes,
            ratio=self.ratio,
            directory_bytes=max(self.max_bytes, 1 << 16),
        )
