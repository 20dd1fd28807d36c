# What the library is linked with, as imported targets: neap::llvm (with neap_cpu) and neap::shaderc (with neap_vulkan).
# The build includes this once it has found the packages, and so does the installed package where the library is static.
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

# neap_find_library(variable name...): an error where there is none, unless somebody asks whether there is the package.
macro(neap_find_library variable)
  find_library(${variable} NAMES ${ARGN} HINTS /usr/lib/llvm-19/lib ${neap_llvm_folders})
  if(NOT ${variable})
    if(CMAKE_FIND_PACKAGE_NAME STREQUAL neap)
      set(neap_FOUND FALSE)
      set(neap_NOT_FOUND_MESSAGE "neap is static, and needs a library that is not there: ${ARGN}")
      return()
    endif()
    message(FATAL_ERROR "neap: there is no library ${ARGN}; ./neap setup installs it on Debian")
  endif()
endmacro()

if(neap_cpu)
  if(NEAP_STATIC_LLVM)
    # What a Python package carries: the parts that are used, which are a third of the shared library.
    llvm_map_components_to_libnames(neap_llvm orcjit passes X86 AArch64)
    neap_import(neap::llvm ${neap_llvm})
  else()
    # The one shared library, as Debian and upstream name it; its headers are needed to build Neap, not to link it.
    neap_find_library(NEAP_LIB_LLVM LLVM-19 libLLVM.so.19.1 libLLVM-19.so.1)
    neap_import(neap::llvm ${NEAP_LIB_LLVM})
  endif()
endif()

if(neap_vulkan)
  # Debian's shared libshaderc is underlinked, so shaderc is linked statically, in this order.
  set(neap_shaderc)
  foreach(neap_name shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler SPIRV SPIRV-Tools-opt
                    SPIRV-Tools)
    neap_find_library(NEAP_LIB_${neap_name} lib${neap_name}.a)
    list(APPEND neap_shaderc ${NEAP_LIB_${neap_name}})
  endforeach()
  neap_import(neap::shaderc ${neap_shaderc} Threads::Threads ${CMAKE_DL_LIBS})
endif()
