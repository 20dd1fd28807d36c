"""Arrays in lldb: `command script import neap_lldb.py` (from PREFIX/share/neap), then `frame variable` and `print` show dtype,
shape and elements, as neap_gdb.py does in gdb.
"""

import pathlib
import sys

import lldb

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import neap_text


def summary(value, _):
    def read(address, size):
        error = lldb.SBError()
        memory = value.GetProcess().ReadMemory(address, size, error)
        if error.Fail():
            raise ValueError(error.GetCString())
        return memory

    try:
        return neap_text.text(value.AddressOf().GetValueAsUnsigned(), read)
    except ValueError as error:
        return f"({error})"


def __lldb_init_module(debugger, _):
    debugger.HandleCommand(f"type summary add -F {__name__}.summary neap::Array")
