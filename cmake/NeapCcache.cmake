# Compile through ccache where it is installed. The sloppiness is what ccache needs to cache files built with a
# precompiled header; -fno-pch-timestamp (NeapTargets.cmake) is the compiler's half of the same bargain. What a file
# depends on the compiler says as it compiles: preprocessing first, to hash that, took 8 % of a build without a cache.
find_program(NEAP_CCACHE ccache)
if(NEAP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  CCACHE_DEPEND=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${NEAP_CCACHE})
endif()
