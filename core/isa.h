// Instruction sets: files below a folder isa/ are compiled once for each, in a namespace of its name, and the processor
// that runs decides which one computes. So a library built on one machine runs at full speed on another. Tested in
// tests/core/isa_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace neap {

/// avx2: with FMA and what else x86-64-v3 has; avx512: x86-64-v4. The others are what a compiler assumes of a machine
/// of which it knows nothing: SSE2 on x86-64.
enum class Isa : uint8_t { baseline, avx2, avx512 };

/// The one that computes: the best that the processor has, or a lower one that NEAP_ISA (baseline, avx2 or avx512) asks
/// for, to see what a program does there (amx: avx512 with tiles, which is what the best one is where they are there).
/// Products and factorizations have other bits there: vectors are shorter, and
/// without FMA a product and a sum are two roundings. Throws OptionError where the variable names none that is there.
Isa isa();
/// The best that the processor has.
Isa best_isa();
/// The name of its namespace, such as "avx2".
std::string_view name(Isa isa);

/// Whether the processor has a unit for products of bf16 in tiles (AMX-BF16), and the system lets this process use it.
/// (core/tiles.cpp)
bool has_tiles();
/// Whether they are used: where they are there, unless NEAP_ISA asks for less.
bool uses_tiles();

}  // namespace neap

// NEAP_ISAS(declare): declare(name) for the namespace of each instruction set. NEAP_CALL_ISA(f(x)): f of the one that
// computes here.
#if defined(__x86_64__)
#define NEAP_ISAS(declare) declare(baseline) declare(avx2) declare(avx512)
#define NEAP_CALL_ISA(call)                            \
  (::neap::isa() == ::neap::Isa::avx512 ? avx512::call \
   : ::neap::isa() == ::neap::Isa::avx2 ? avx2::call   \
                                        : baseline::call)
#else
#define NEAP_ISAS(declare) declare(baseline)
#define NEAP_CALL_ISA(call) baseline::call
#endif
