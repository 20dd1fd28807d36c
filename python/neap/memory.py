"""What Neap's allocator holds, and what the process holds."""

from ._neap import memory as _memory

globals().update({name: value for name, value in vars(_memory).items() if not name.startswith("_")})
__all__ = [name for name in vars(_memory) if not name.startswith("_")]
