# Third-party components, as Debian 12 packages them (`./neap setup` installs them). Everything but LLVM goes into one
# interface target, so that all object libraries have the same flags and can share one precompiled header.
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
# Checksums; header only (XXH_INLINE_ALL).
find_path(NEAP_XXHASH xxhash.h REQUIRED)

add_library(neap_deps INTERFACE)
target_link_libraries(neap_deps INTERFACE fmt::fmt TBB::tbb Threads::Threads nlohmann_json::nlohmann_json)
target_include_directories(neap_deps SYSTEM INTERFACE $<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>)
# Neap threads with oneTBB; Eigen must not look for OpenMP, nor pull in GPL-compatible-only (LGPL) parts.
target_compile_definitions(neap_deps INTERFACE EIGEN_DONT_PARALLELIZE EIGEN_MPL2_ONLY)

# lld links the many test programs several times faster than the default linker.
find_program(NEAP_LLD NAMES ld.lld-19 ld.lld)
if(NEAP_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_link_options(neap_deps INTERFACE --ld-path=${NEAP_LLD})
endif()

if(NEAP_CPU)
  find_package(LLVM 19.1 REQUIRED CONFIG)
  add_library(neap_llvm INTERFACE)
  target_include_directories(neap_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(neap_llvm INTERFACE LLVM)  # the one shared libLLVM
endif()

if(NEAP_VULKAN)
  # volk loads the driver at run time; only its header is used. Debian's shared libshaderc is underlinked, so shaderc is
  # linked statically, in this order.
  find_path(NEAP_VOLK volk.h REQUIRED)
  add_library(neap_vulkan INTERFACE)
  target_include_directories(neap_vulkan SYSTEM INTERFACE ${NEAP_VOLK})
  foreach(library shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler SPIRV
                  SPIRV-Tools-opt SPIRV-Tools)
    find_library(NEAP_LIB_${library} NAMES lib${library}.a REQUIRED)
    target_link_libraries(neap_vulkan INTERFACE ${NEAP_LIB_${library}})
  endforeach()
  target_link_libraries(neap_vulkan INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
endif()
