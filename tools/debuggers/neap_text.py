"""The text of an array, from the bytes of a process or of a core dump: `text(address, read)`, where read(address, bytes) gives
memory. Where things lie is what tests and trace/ops/array.cpp hold to this file (64-bit systems, libstdc++).
"""

import struct

DTYPES = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128"]
FORMATS = ["?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "H", "f", "d", "ff", "dd"]
KINDS = ["", " (traced)", " (spec)", " (donated)"]
DTYPE, KIND, BUFFER = 24, 32, 40  # of detail::ArrayImpl, in bytes; the shape, a vector, comes first
THRESHOLD, EDGE = 1000, 3  # elements; of more only three at either end of an axis are shown


def text(array, read):
    """The text of the neap::Array at this address."""
    impl, count = struct.unpack("<QQ", read(array, 16))
    if impl == 0:
        return "(an array without a value)"
    try:
        head = read(impl, BUFFER + 8)
        begin, end = struct.unpack_from("<QQ", head)
        dtype, kind = head[DTYPE], head[KIND]
        if count == 0 or end < begin or (end - begin) % 8 or end - begin > 8 * 64 or dtype >= len(DTYPES) or kind >= len(KINDS):
            return "(not constructed)"
        shape = struct.unpack(f"<{(end - begin) // 8}q", read(begin, end - begin)) if end > begin else ()
        said = f"{DTYPES[dtype]}[{','.join(map(str, shape))}]{KINDS[kind]}"
        if KINDS[kind]:
            return said
        data = struct.unpack("<Q", read(struct.unpack_from("<Q", head, BUFFER)[0], 8))[0]
        if data == 0:
            return said + " (on a device)"
        return f"{said} {elements(data, shape, FORMATS[dtype], DTYPES[dtype], read)}"
    except (RuntimeError, ValueError, MemoryError):
        return "(not constructed)"


def elements(data, shape, form, dtype, read):
    size = struct.calcsize("<" + form)
    count = 1
    for extent in shape:
        count *= extent

    def number(at):
        values = struct.unpack("<" + form, read(data + at * size, size))
        if dtype == "bf16":
            values = struct.unpack("<f", struct.pack("<I", values[0] << 16))
        if len(values) == 2:
            return f"{complex(*values):g}"
        return f"{values[0]:g}" if isinstance(values[0], float) else str(values[0])

    def rows(axis, at):
        if axis == len(shape):
            return number(at)
        extent = shape[axis]
        cut = count > THRESHOLD and extent > 2 * EDGE
        shown = list(range(EDGE)) + [None] + list(range(extent - EDGE, extent)) if cut else range(extent)
        return "[" + ", ".join("..." if i is None else rows(axis + 1, at * extent + i) for i in shown) + "]"

    return "[]" if count == 0 else rows(0, 0)
