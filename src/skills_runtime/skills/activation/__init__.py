"""Activation: the text of a skill becomes part of a conversation, with the arguments it was called with."""

from skills_runtime.skills.activation.arguments import filled
from skills_runtime.skills.activation.files import files_of
from skills_runtime.skills.activation.identity import identity_of
from skills_runtime.skills.activation.names import Named, named_skills

__all__ = ["Named", "files_of", "filled", "identity_of", "named_skills"]
