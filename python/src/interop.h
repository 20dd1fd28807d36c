// Memory that Neap shares with others: the buffer protocol and DLPack.
#pragma once

#include "args.h"

namespace neap::python {

/// Returns the slots of Array that have no method of Python: the buffer protocol.
PyType_Slot* array_slots();

}  // namespace neap::python
