"""Arrays in lldb: `command script import neap_lldb.py` (from PREFIX/share/neap), then `frame variable` and `print` show dtype,
shape and elements. It asks the library of the running program, as neap_gdb.py does.
"""

import lldb


def summary(value, _):
    address = value.AddressOf().GetValueAsUnsigned()
    options = lldb.SBExpressionOptions()
    options.SetIgnoreBreakpoints(True)
    options.SetTimeoutInMicroSeconds(1_000_000)
    text = value.GetFrame().EvaluateExpression(
        f"((const char *(*)(const void *))neap_debug_text)((const void *){address})", options
    )
    if text.GetError().Fail():
        return f"neap::Array ({text.GetError().GetCString()})"
    error = lldb.SBError()
    return value.GetProcess().ReadCStringFromMemory(text.GetValueAsUnsigned(), 1 << 20, error)


def __lldb_init_module(debugger, _):
    debugger.HandleCommand(f"type summary add -F {__name__}.summary neap::Array")
