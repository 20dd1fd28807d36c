# Functions that turn a folder of sources into a target. Sources are globbed: a new file needs no edit here.

# neap_flags(target): the language flags, warnings and include paths of every target in the project.
function(neap_flags target)
  # a * b + c is two roundings wherever it is written, on every processor.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off)
  if(NEAP_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Wrong of variants and of its own intrinsics; the others, with -O3, of its own strings.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-array-bounds -Wno-free-nonheap-object
                                             -Wno-restrict -Wno-stringop-overflow)
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

include(NeapIsas)

# What goes into libneap.a is position-independent, so that a plug-in or a Python module can be made of it.
neap_pch(neap_pch ${PROJECT_SOURCE_DIR}/cmake/pch.h)
set_target_properties(neap_pch PROPERTIES POSITION_INDEPENDENT_CODE ON)
set(program_pch neap_pch)
if(NEAP_TEST_OPTIONS)
  set(program_pch neap_program_pch)
  neap_pch(neap_program_pch ${PROJECT_SOURCE_DIR}/cmake/pch.h)
  target_compile_options(neap_program_pch PRIVATE ${NEAP_TEST_OPTIONS})
  set_target_properties(neap_program_pch PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

# neap_add_isas(folder source...): object libraries neap_<folder>_<isa> of sources below folders isa/, dense linear
# algebra. They may multiply and add in one rounding, which nothing else does, and are optimised in every preset
# (NEAP_ISA_OPTIONS). Everything else stays at the architecture's baseline: generated code asks LLVM for the host's
# features at run time. An Eigen of their own keeps the linker from taking a function that was compiled for another
# processor.
function(neap_add_isas folder)
  foreach(isa ${NEAP_ISAS})
    set(target neap_${folder}_${isa})
    add_library(${target} OBJECT ${ARGN})
    neap_flags(${target})
    target_link_libraries(${target} PRIVATE neap_deps)
    target_compile_options(${target} PRIVATE ${NEAP_ISA_OPTIONS} -Wno-psabi -ffunction-sections ${NEAP_CONTRACT} ${NEAP_FLAGS_${isa}})
    target_compile_definitions(${target} PRIVATE NEAP_ISA=${isa} Eigen=NeapEigen_${isa})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    set_property(GLOBAL APPEND PROPERTY NEAP_OBJECT_LIBRARIES ${target})
  endforeach()
endfunction()

# neap_add_code_version(): gives neap_backends a source that is made again whenever one changes that it has a hash of
# (CodeVersion.cmake).
function(neap_add_code_version)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backends/cpu/*.h ${PROJECT_SOURCE_DIR}/backends/cpu/*.cpp
       ${PROJECT_SOURCE_DIR}/trace/*.h ${PROJECT_SOURCE_DIR}/trace/*.cpp)
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backends/*.h ${PROJECT_SOURCE_DIR}/backends/*.cpp)
  set(source ${PROJECT_BINARY_DIR}/generated/code_version.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/CodeVersion.cmake)
  add_custom_command(OUTPUT ${source} DEPENDS ${sources} ${kernels} ${script} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_SOURCE_DIR} -DOUTPUT=${source} -P ${script})
  target_sources(neap_backends PRIVATE ${source})
endfunction()

# neap_add_objects(target pch source...): an object library, part of the library.
function(neap_add_objects target pch)
  add_library(${target} OBJECT ${ARGN})
  neap_flags(${target})
  target_link_libraries(${target} PRIVATE neap_deps)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # Compiled code runs in the destructors of static objects, of any age: ours are never destroyed.
    target_compile_options(${target} PRIVATE -Wexit-time-destructors)
  endif()
  set_property(GLOBAL APPEND PROPERTY NEAP_OBJECT_LIBRARIES ${target})
endfunction()

# neap_add_folder(folder): object library neap_<folder> of all sources below the folder, and neap_<folder>_library of
# those below <folder>/library, which are programs: compiled as those of users are.
# backends/cpu and backends/vulkan are left out unless their option is on.
function(neap_add_folder folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(planner|jit)/tool/")  # programs
  list(FILTER sources EXCLUDE REGEX "/backends/cpu/runtime/")  # neap_add_runtime
  list(TRANSFORM NEAP_RUNTIME_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE runtime_sources)
  list(REMOVE_ITEM sources ${runtime_sources})
  if(NEAP_PORTABLE)
    list(FILTER sources EXCLUDE REGEX "/core/os/[^/]*_linux\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "/core/os/[^/]*_portable\\.cpp$")
  endif()
  if(NOT NEAP_CPU)
    list(FILTER sources EXCLUDE REGEX "/backends/cpu/")
  endif()
  if(NOT NEAP_VULKAN)
    list(FILTER sources EXCLUDE REGEX "/backends/vulkan/")
  endif()
  set(isa_sources ${sources})
  list(FILTER sources EXCLUDE REGEX "/isa/")
  list(FILTER isa_sources INCLUDE REGEX "/isa/")
  if(isa_sources)
    neap_add_isas(${folder} ${isa_sources})
  endif()
  file(GLOB_RECURSE programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/library/*.cpp)
  if(programs)
    list(REMOVE_ITEM sources ${programs})
    neap_add_objects(neap_${folder}_library ${program_pch} ${programs})
    target_compile_options(neap_${folder}_library PRIVATE ${NEAP_TEST_OPTIONS})
  endif()
  neap_add_objects(neap_${folder} neap_pch ${sources})
  if(folder STREQUAL backends AND NEAP_CPU)
    target_link_libraries(neap_backends PRIVATE neap_llvm_headers)
    neap_add_code_version()
    # LLVM is built without RTTI. Using its classes is fine; a file that derives from one of them and is linked with
    # "undefined symbol: typeinfo for llvm::..." needs RTTI off, and the precompiled header (built with it) off too.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/backends/cpu/code_memory.cpp
                                PROPERTIES COMPILE_OPTIONS -fno-rtti SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(folder STREQUAL backends AND NEAP_VULKAN)
    target_link_libraries(neap_backends PRIVATE neap_vulkan_headers)
  endif()
endfunction()

# neap_add_runtime(): the files that the library shares with libneap-runtime.a, which saved functions are linked with, and
# that library (backends/cpu/runtime).
function(neap_add_runtime)
  set(sources ${NEAP_RUNTIME_SOURCES})
  if(NOT NEAP_CPU)
    list(FILTER sources EXCLUDE REGEX "^backends/")
  endif()
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  add_library(neap_core_runtime OBJECT ${sources})
  neap_flags(neap_core_runtime)
  target_link_libraries(neap_core_runtime PRIVATE neap_deps)
  set_target_properties(neap_core_runtime PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_property(GLOBAL APPEND PROPERTY NEAP_OBJECT_LIBRARIES neap_core_runtime)
  if(NEAP_CPU)
    set(objects $<TARGET_OBJECTS:neap_core_runtime>)
    foreach(isa ${NEAP_ISAS})
      list(APPEND objects $<TARGET_OBJECTS:neap_core_${isa}> $<TARGET_OBJECTS:neap_backends_${isa}>)
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backends/cpu/runtime/*.cpp)
    add_library(neap_runtime STATIC ${sources} ${objects})
    neap_flags(neap_runtime)
    target_link_libraries(neap_runtime INTERFACE m stdc++)  # of Eigen, in factorizations
    set_target_properties(neap_runtime PROPERTIES OUTPUT_NAME neap-runtime POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

# neap_make_library(target kind): a library of all object libraries so far, static or shared, with what it is linked with.
function(neap_make_library target kind)
  get_property(libraries GLOBAL PROPERTY NEAP_OBJECT_LIBRARIES)
  set(objects)
  foreach(library ${libraries})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(${target} ${kind} ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PRIVATE TBB::tbb fmt::fmt Threads::Threads $<$<BOOL:${NEAP_CPU}>:neap::llvm>
                                          $<$<BOOL:${NEAP_VULKAN}>:neap::shaderc>)
  if(kind STREQUAL SHARED)
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL)
  endif()
endfunction()

# neap_add_library(): `neap`, static or shared by BUILD_SHARED_LIBS: what programs link. And neap_internal, which has the
# symbols that a shared one hides, for tests and tools.
function(neap_add_library)
  if(BUILD_SHARED_LIBS)
    neap_make_library(neap SHARED)
  else()
    neap_make_library(neap STATIC)
  endif()
  add_library(neap::neap ALIAS neap)
  set_target_properties(neap PROPERTIES VERSION ${PROJECT_VERSION}
                                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  add_library(neap_internal INTERFACE)
  if(BUILD_SHARED_LIBS AND (NEAP_TESTS OR NEAP_BENCH OR (NEAP_TOOLS AND NEAP_CPU)))
    neap_make_library(neap_whole STATIC)
    target_link_libraries(neap_internal INTERFACE neap_whole neap_deps)
  else()
    target_link_libraries(neap_internal INTERFACE neap neap_deps)
  endif()
endfunction()

# neap_add_mpi(): `neap::mpi`, meshes of processes by MPI, a library beside neap: of its public interface alone.
function(neap_add_mpi)
  find_package(MPI REQUIRED COMPONENTS CXX)
  add_library(neap_mpi STATIC ${PROJECT_SOURCE_DIR}/mpi/mpi.cpp)
  add_library(neap::mpi ALIAS neap_mpi)
  neap_flags(neap_mpi)
  target_link_libraries(neap_mpi PUBLIC neap PRIVATE MPI::MPI_CXX)
  target_compile_definitions(neap_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)  # C's interface alone
  set_target_properties(neap_mpi PROPERTIES EXPORT_NAME mpi OUTPUT_NAME neap-mpi POSITION_INDEPENDENT_CODE ON)
endfunction()

# neap_add_mpi_test(name ranks program argument...): a test, label mpi, of so many processes, of one thread each, on as
# many cores as there are.
set(mpi_environment NEAP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none
                    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none)
function(neap_add_mpi_test name ranks)
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS mpi TIMEOUT 600 ENVIRONMENT "${mpi_environment}" PROCESSORS 2)
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
  get_property(libraries GLOBAL PROPERTY NEAP_OBJECT_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "^neap_(core|trace|autodiff|planner)")
  foreach(library ${libraries})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
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

# neap_add_aot_tool(): neap-aot, of jit/tool.
function(neap_add_aot_tool)
  find_package(CLI11 REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/jit/tool/*.cpp)
  neap_add_tool(neap-aot ${sources})
  target_link_libraries(neap-aot PRIVATE CLI11::CLI11)
endfunction()
