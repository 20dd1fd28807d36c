# Functions that turn a folder of sources into a target. Sources are globbed: a new file needs no edit here.

# neap_flags(target): the language flags, warnings and include paths of every target in the project.
function(neap_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers)
  if(NEAP_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)  # wrong of variants and of its own intrinsics
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${NEAP_CPU}>:NEAP_CPU=1>
                                               $<$<BOOL:${NEAP_VULKAN}>:NEAP_VULKAN=1>)
endfunction()

# neap_pch(target header dep...): a precompiled header that other targets with the same flags take by REUSE_FROM.
function(neap_pch target header)
  set(source ${PROJECT_BINARY_DIR}/pch/${target}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// Holds the precompiled header ${target}.\n")
  endif()
  add_library(${target} OBJECT ${source})
  neap_flags(${target})
  target_link_libraries(${target} PRIVATE neap_deps ${ARGN})
  target_precompile_headers(${target} PRIVATE ${header})
endfunction()

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=native NEAP_MARCH_NATIVE)
check_cxx_compiler_flag(-mprefer-vector-width=512 NEAP_WIDE_VECTORS)  # else clang halves those of AVX-512
# On a host with AVX10.1, clang 19's native gives both of its widths, and warns of what it gave itself.
check_cxx_compiler_flag(-Winvalid-feature-combination NEAP_WARNS_OF_FEATURES)
set(NEAP_HOST_FLAGS -O3 $<$<BOOL:${NEAP_MARCH_NATIVE}>:-march=native>
                    $<$<BOOL:${NEAP_WIDE_VECTORS}>:-mprefer-vector-width=512>
                    $<$<BOOL:${NEAP_WARNS_OF_FEATURES}>:-Wno-invalid-feature-combination>)

# What goes into libneap.a is position-independent, so that a plug-in or a Python module can be made of it.
neap_pch(neap_pch ${PROJECT_SOURCE_DIR}/cmake/pch.h)
set_target_properties(neap_pch PROPERTIES POSITION_INDEPENDENT_CODE ON)

# neap_host_sources(source...): compiles backends/cpu/gemm*.cpp and core/factor/*.cpp, dense linear algebra, for this
# machine's vector units. Everything else stays at the architecture's baseline: generated code asks LLVM for the host's
# features at run time.
function(neap_host_sources)
  list(FILTER ARGN INCLUDE REGEX "/(backends/cpu/gemm|core/factor/)[^/]*\\.cpp$")
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${NEAP_HOST_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# neap_add_folder(folder): object library neap_<folder> of all sources below the folder; no sources, no target.
# backends/cpu and backends/vulkan are left out unless their option is on.
function(neap_add_folder folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/planner/tool/")  # a program: neap_add_plan_tool
  if(NOT NEAP_CPU)
    list(FILTER sources EXCLUDE REGEX "/backends/cpu/")
  endif()
  if(NOT NEAP_VULKAN)
    list(FILTER sources EXCLUDE REGEX "/backends/vulkan/")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(neap_${folder} OBJECT ${sources})
  neap_flags(neap_${folder})
  target_link_libraries(neap_${folder} PRIVATE neap_deps)
  target_precompile_headers(neap_${folder} REUSE_FROM neap_pch)
  set_target_properties(neap_${folder} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # Compiled code runs in the destructors of static objects, of any age: ours are never destroyed.
    target_compile_options(neap_${folder} PRIVATE -Wexit-time-destructors)
  endif()
  neap_host_sources(${sources})
  if(folder STREQUAL backends AND NEAP_CPU)
    target_link_libraries(neap_backends PRIVATE neap_llvm_headers)
    # LLVM is built without RTTI. Using its classes is fine; a file that derives from one of them and is linked with
    # "undefined symbol: typeinfo for llvm::..." needs RTTI off, and the precompiled header (built with it) off too.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/backends/cpu/code_memory.cpp
                                PROPERTIES COMPILE_OPTIONS -fno-rtti SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(folder STREQUAL backends AND NEAP_VULKAN)
    target_link_libraries(neap_backends PRIVATE neap_vulkan_headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY NEAP_OBJECT_LIBRARIES neap_${folder})
endfunction()

# neap_add_library(): the library `neap` of all object libraries so far, static or shared by BUILD_SHARED_LIBS: what
# programs link. And neap_internal, which has the symbols that a shared one hides, for tests and tools.
function(neap_add_library)
  get_property(libraries GLOBAL PROPERTY NEAP_OBJECT_LIBRARIES)
  set(objects)
  foreach(library ${libraries})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  set(linked TBB::tbb fmt::fmt Threads::Threads $<$<BOOL:${NEAP_CPU}>:neap::llvm> $<$<BOOL:${NEAP_VULKAN}>:neap::shaderc>)

  add_library(neap ${objects})
  add_library(neap::neap ALIAS neap)
  set_target_properties(neap PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(neap PUBLIC cxx_std_20)
  target_include_directories(neap INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(neap PRIVATE ${linked})
  set(whole neap)
  if(BUILD_SHARED_LIBS)
    target_link_options(neap PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)
    if(NEAP_TESTS OR NEAP_BENCH)
      add_library(neap_whole STATIC ${objects})
      set_target_properties(neap_whole PROPERTIES LINKER_LANGUAGE CXX)
      target_link_libraries(neap_whole PRIVATE ${linked})
      set(whole neap_whole)
    endif()
  endif()
  add_library(neap_internal INTERFACE)
  target_link_libraries(neap_internal INTERFACE ${whole} neap_deps)
endfunction()

# neap_add_program(target source...): a program of a user, of the public interface alone, in build/<preset>/bin.
function(neap_add_program target)
  add_executable(${target} ${ARGN})
  neap_flags(${target})
  target_link_libraries(${target} PRIVATE neap)
endfunction()

# neap_add_tool(target source...): a program that knows the library from within.
function(neap_add_tool target)
  add_executable(${target} ${ARGN})
  neap_flags(${target})
  target_link_libraries(${target} PRIVATE neap_internal)
endfunction()

# neap_add_plan_tool(): neap-plan, of planner/tool and what it uses of the folders up to the planner: no backend.
function(neap_add_plan_tool)
  set(objects)
  foreach(folder core trace autodiff planner)
    list(APPEND objects $<TARGET_OBJECTS:neap_${folder}>)
  endforeach()
  add_library(neap_planning STATIC ${objects})
  set_target_properties(neap_planning PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(neap_planning PUBLIC neap_deps)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/planner/tool/*.cpp)
  find_package(CLI11 REQUIRED)
  add_executable(neap-plan ${sources})
  neap_flags(neap-plan)
  target_link_libraries(neap-plan PRIVATE neap_planning CLI11::CLI11)
endfunction()
