# What the library is linked with, as imported targets: neap::llvm (with NEAP_CPU) and neap::shaderc (with NEAP_VULKAN).
# The build includes this, and so does the installed package where the library is static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(TBB)
find_dependency(fmt)

# neap_import(target library...): an imported target of these, in their order.
function(neap_import target)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${ARGN}")
  endif()
endfunction()

if(NEAP_CPU)
  # The one shared library, as Debian and upstream name it; its headers are needed to build Neap, not to link it.
  find_library(NEAP_LIB_LLVM NAMES LLVM-19 libLLVM.so.19.1 libLLVM-19.so.1 REQUIRED
               HINTS /usr/lib/llvm-19/lib ${NEAP_LLVM_LIBRARY_DIR})
  neap_import(neap::llvm ${NEAP_LIB_LLVM})
endif()

if(NEAP_VULKAN)
  # Debian's shared libshaderc is underlinked, so shaderc is linked statically, in this order.
  set(libraries)
  foreach(library shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler SPIRV
                  SPIRV-Tools-opt SPIRV-Tools)
    find_library(NEAP_LIB_${library} NAMES lib${library}.a REQUIRED)
    list(APPEND libraries ${NEAP_LIB_${library}})
  endforeach()
  neap_import(neap::shaderc ${libraries} Threads::Threads ${CMAKE_DL_LIBS})
endif()
