"""Arrays in gdb: `source neap_gdb.py` (from PREFIX/share/neap), then `print x`, `info locals` and every debugger on top of gdb
show dtype, shape and elements, of a running program and of a core dump. It needs no debug information of the library, and calls
nothing in the program.
"""

import pathlib
import sys

import gdb
import gdb.printing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import neap_text


def read(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.MemoryError as error:
        raise ValueError(str(error)) from error


class ArrayPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        if self.value.address is None:
            return "(in no memory)"
        try:
            return neap_text.text(int(self.value.address), read)
        except (ValueError, gdb.error) as error:
            return f"({error})"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("neap")
    collection.add_printer("Array", "^neap::Array$", ArrayPrinter)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
