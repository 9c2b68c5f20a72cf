"""A checked path for code that wants a path.

What it names can change before it is used, so tools use `RunFiles` instead.
"""

from pathlib import Path

from skills_runtime.runs.files.content import check_regular, lstat, other_name
from skills_runtime.runs.files.entries import kind_of
from skills_runtime.runs.files.failures import refusal
from skills_runtime.runs.files.locate import Place, foresee, locate
from skills_runtime.runs.files.paths import Location, check_read, check_write, parse_path
from skills_runtime.runs.files.policy import HardLinkRule, PathPolicy
from skills_runtime.storage.beneath import Opener, best_opener


def resolve(policy: PathPolicy, user_path: str, *, for_write: bool = False, opener: Opener | None = None) -> Path:
    """The real absolute path of a place that may be read, or written, whether it exists yet or not."""
    check = check_write if for_write else check_read
    location = parse_path(policy, user_path)
    check(policy, location)
    try:
        real = _real_location(policy, location, opener or best_opener())
    except OSError as error:
        raise refusal(error, user_path) from error
    check(policy, real)
    return policy.root(real.mount).joinpath(*real.parts)


def _real_location(policy: PathPolicy, location: Location, opener: Opener) -> Location:
    try:
        with locate(policy, location, opener) as place:
            _check_existing(place, policy.hard_links)
            return place.location
    except FileNotFoundError:
        return foresee(policy, location, opener)


def _check_existing(place: Place, hard_links: HardLinkRule) -> None:
    try:
        found = lstat(place)
    except FileNotFoundError:
        return
    if kind_of(found) == "directory":
        return
    check_regular(found, place)
    if hard_links == "refuse" and found.st_nlink > 1:
        raise other_name(place)
