"""A workspace under a layer: what commands write lands there, and somebody looks at it before it counts.

Read `layers.py` first.
"""

from skills_runtime.sandbox.overlay.layers import (
    commit_layer,
    difference_of,
    discard_layer,
    find_layer,
    holding,
    layers_over,
    new_layer,
    text_of,
)
from skills_runtime.sandbox.overlay.values import Change, Difference, Layer

__all__ = [
    "Change",
    "Difference",
    "Layer",
    "commit_layer",
    "difference_of",
    "discard_layer",
    "find_layer",
    "holding",
    "layers_over",
    "new_layer",
    "text_of",
]
