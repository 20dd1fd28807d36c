"""jax.tree's names: neap.tree.map is neap.tree_map."""

from ._tree import tree_all as all
from ._tree import tree_flatten as flatten
from ._tree import tree_leaves as leaves
from ._tree import tree_map as map
from ._tree import tree_reduce as reduce
from ._tree import tree_structure as structure
from ._tree import tree_unflatten as unflatten

__all__ = ["all", "flatten", "leaves", "map", "reduce", "structure", "unflatten"]
