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
        kept = gdb.parameter("unwindonsignal")
        try:
            gdb.execute("set unwindonsignal on", to_string=True)  # should the bytes be no array after all
            return self.text()
        except (gdb.error, RuntimeError) as error:
            return f"neap::Array ({error})"
        finally:
            gdb.execute(f"set unwindonsignal {'on' if kept else 'off'}", to_string=True)

    def text(self):
        address = self.value.address
        if address is None:
            return "neap::Array (in no memory)"
        held, count = self.value["impl_"]["_M_ptr"], self.value["impl_"]["_M_refcount"]["_M_pi"]
        for pointer in (held, count):  # of a variable before its construction they point anywhere
            if int(pointer):
                gdb.selected_inferior().read_memory(int(pointer), 16)
        if bool(int(held)) != bool(int(count)):
            return "neap::Array (not constructed)"
        text = gdb.parse_and_eval("(const char *(*)(const void *)) neap_debug_text").dereference()
        return text(address.cast(gdb.lookup_type("void").pointer())).string()


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("neap")
    collection.add_printer("Array", "^neap::Array$", ArrayPrinter)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
