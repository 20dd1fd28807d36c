// The names under which saved functions find what they call, by instruction set: neap_runtime_gemm_avx2.
#pragma once

#define NEAP_RUNTIME_JOIN(name, isa) neap_runtime_##name##_##isa
#define NEAP_RUNTIME_NAME(name, isa) NEAP_RUNTIME_JOIN(name, isa)
#define NEAP_RUNTIME_ENTRY(name) NEAP_RUNTIME_NAME(name, NEAP_ISA)
