// Includes the whole public interface.
#pragma once

#include <neap/array.h>
#include <neap/bytes.h>
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/device.h>
#include <neap/dtype.h>
#include <neap/error.h>
#include <neap/fft.h>
#include <neap/jit.h>
#include <neap/lax.h>
#include <neap/linalg.h>
#include <neap/memory.h>
#include <neap/numpy.h>
#include <neap/ode.h>
#include <neap/ops.h>
#include <neap/optimize.h>
#include <neap/plan.h>
#include <neap/profile.h>
#include <neap/random.h>
#include <neap/shape.h>
#include <neap/solvers.h>
#include <neap/trace.h>
#include <neap/transforms.h>
#include <neap/tree.h>
#include <neap/version.h>
