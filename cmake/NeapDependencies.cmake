# Third-party components, as Debian 12 packages them (`./neap setup` installs them). What all object libraries are
# compiled with goes into one interface target, neap_deps, so that they can share one precompiled header; it is not what
# users of the library compile with: public headers include the standard library alone.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
# Checksums; header only (XXH_INLINE_ALL).
find_path(NEAP_XXHASH xxhash.h REQUIRED)

if(NEAP_CPU)
  enable_language(C)  # LLVM's package file runs C checks
  find_package(LLVM 19.1 REQUIRED CONFIG)
  set(neap_llvm_folders ${LLVM_LIBRARY_DIRS})
  add_library(neap_llvm_headers INTERFACE)
  target_include_directories(neap_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
endif()
if(NEAP_VULKAN)
  find_path(NEAP_VOLK volk.h REQUIRED)  # loads the driver at run time; only its header is used
  add_library(neap_vulkan_headers INTERFACE)
  target_include_directories(neap_vulkan_headers SYSTEM INTERFACE ${NEAP_VOLK})
endif()
set(neap_cpu ${NEAP_CPU})
set(neap_vulkan ${NEAP_VULKAN})
include(NeapLinked)

add_library(neap_deps INTERFACE)
target_link_libraries(neap_deps INTERFACE fmt::fmt TBB::tbb Threads::Threads nlohmann_json::nlohmann_json)
target_include_directories(neap_deps SYSTEM INTERFACE $<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>)
# Neap threads with oneTBB; Eigen must not look for OpenMP, nor pull in GPL-compatible-only (LGPL) parts.
target_compile_definitions(neap_deps INTERFACE EIGEN_DONT_PARALLELIZE EIGEN_MPL2_ONLY)

# lld links the many test programs several times faster than the default linker.
find_program(NEAP_LLD NAMES ld.lld-19 ld.lld)
if(PROJECT_IS_TOP_LEVEL AND NEAP_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_link_options(--ld-path=${NEAP_LLD})
endif()
