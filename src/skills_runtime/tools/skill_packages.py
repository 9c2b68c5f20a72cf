"""Which packages a command of a skill needs, and how it is run with them."""

from pathlib import Path

from skills_runtime.skills.scripts import script_in
from skills_runtime.skills.skill import Skill
from skills_runtime.tools.skill_environments.needs import Need, need_of

PYTHONS = ("python", "python3")


def needed_by(skill: Skill, argv: tuple[str, ...]) -> Need | None:
    """What the script says that a command starts: given to Python by its path, or being the program itself."""
    path = _script(skill, argv)
    if path is None:
        return None
    lock = script_in(skill, path.with_name(f"{path.name}.lock"))
    return need_of(script_in(skill, path), lock, name=path.name)


def with_packages(argv: tuple[str, ...], python: Path) -> tuple[str, ...]:
    """The same command with the interpreter of an environment."""
    return (str(python), *(argv[1:] if argv[0] in PYTHONS else argv))


def _script(skill: Skill, argv: tuple[str, ...]) -> Path | None:
    program, *others = argv
    path = Path(others[0] if others and program in PYTHONS else program)
    inside = skill.directory is not None and path.is_absolute() and path.is_relative_to(skill.directory)
    return path if inside and path.suffix == ".py" else None
