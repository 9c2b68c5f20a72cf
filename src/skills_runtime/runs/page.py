"""A run directory as one page to hand to somebody who has none of our programs."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skills_runtime.errors import StorageFailed, ValidationFailed
from skills_runtime.projections import RunState, fold
from skills_runtime.projections.page import Language, PageFile, render_page
from skills_runtime.runs.layout import FILE_MODE, RunPaths
from skills_runtime.runs.log import read_events
from skills_runtime.runs.manifests import ArtifactManifest


def page_of(paths: RunPaths, language: Language = "en") -> Iterator[str]:
    """The page of a run, piece by piece; the log is read twice, and never held as a whole."""
    state = fold(read_events(paths), RunState())
    return render_page(state, read_events(paths), deliverables_of(paths), language)


def write_page(paths: RunPaths, place: Path, language: Language = "en") -> None:
    """Write the page of a run into a new file that only its user can read."""
    pieces = page_of(paths, language)
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        raise ValidationFailed(f"`{place}` already exists", hint="name another file") from None
    except OSError as error:
        raise StorageFailed(f"`{place}` cannot be written: {error.strerror}", hint="choose another place") from error
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        try:
            file.writelines(pieces)
        except BaseException:
            place.unlink(missing_ok=True)
            raise


def deliverables_of(paths: RunPaths) -> list[PageFile]:
    """What the run handed over, as its manifest has it; one without a manifest has nothing to tell yet."""
    try:
        manifest = msgspec.json.decode(paths.artifact_manifest.read_bytes(), type=ArtifactManifest)
    except (OSError, msgspec.MsgspecError):
        return []
    return [
        PageFile(one.name, one.size, one.digest.get("sha256", ""))
        for one in manifest.artifacts
        if one.role == "deliverable"
    ]
