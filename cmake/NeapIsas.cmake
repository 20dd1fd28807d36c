# The instruction sets that files below a folder isa/ are compiled for, each in a namespace of its name (core/isa.h), and
# the files that libneap-runtime.a shares with the library. backends/cpu/runtime reads this for other processors too.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#ifndef __x86_64__\n#error\n#endif\nint main() {}" NEAP_X86_64)
if(NOT DEFINED NEAP_ISA_OPTIONS)  # backends/cpu/runtime by itself
  set(NEAP_ISA_OPTIONS -O3)
endif()
set(NEAP_ISAS baseline)
if(NEAP_X86_64)
  list(APPEND NEAP_ISAS avx2 avx512)
  set(NEAP_FLAGS_avx2 -march=x86-64-v3)
  set(NEAP_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)  # else they are halved
endif()

# A product and a sum in one rounding, within an expression; g++ knows that for whole functions alone.
set(NEAP_CONTRACT -ffp-contract=$<IF:$<CXX_COMPILER_ID:GNU>,fast,on>)

set(NEAP_RUNTIME_SOURCES core/tiles.cpp core/factor/sizes.cpp trace/scalar/scalar_special.cpp planner/kernels/dot_scratch.cpp planner/kernels/convolution_tiles.cpp planner/kernels/fourier_layout.cpp
    planner/kernels/cumulative_layout.cpp backends/cpu/cumulative.cpp planner/kernels/sort_layout.cpp backends/cpu/sort.cpp backends/cpu/select.cpp)
