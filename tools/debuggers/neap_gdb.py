"""Arrays in gdb: `source neap_gdb.py` (from PREFIX/share/neap), then `print x`, `info locals` and every debugger on top of gdb
show dtype, shape and elements. It asks the library of the running program (neap_debug_text), so that it needs no debug
information of the library; of a core dump it says so.
"""

import gdb
import gdb.printing


class ArrayPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            text = gdb.parse_and_eval("(const char *(*)(const void *)) neap_debug_text")
            address = self.value.address
            if address is None:
                return "neap::Array (in no memory)"
            return text(address.cast(gdb.lookup_type("void").pointer())).string()
        except gdb.error as error:
            return f"neap::Array ({error})"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("neap")
    collection.add_printer("Array", "^neap::Array$", ArrayPrinter)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
