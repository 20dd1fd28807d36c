# `cmake --install`: the library, its headers, package files for CMake and pkg-config, neap-plan. `cpack -G DEB` makes
# three packages of it: libneap (shared builds alone), libneap-dev and neap-tools.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS neap EXPORT neap
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/neap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN *.h PATTERN *.def)
install(FILES ${PROJECT_SOURCE_DIR}/tools/debuggers/neap_gdb.py ${PROJECT_SOURCE_DIR}/tools/debuggers/neap_lldb.py
              ${PROJECT_SOURCE_DIR}/tools/debuggers/neap.natvis DESTINATION ${CMAKE_INSTALL_DATADIR}/neap COMPONENT dev)
if(NEAP_TOOLS)
  install(TARGETS neap-plan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()

# find_package(neap)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/neap)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/neapConfig.cmake.in ${PROJECT_BINARY_DIR}/neapConfig.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/neapConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/neapConfig.cmake ${PROJECT_BINARY_DIR}/neapConfigVersion.cmake
        DESTINATION ${package} COMPONENT dev)
if(NOT BUILD_SHARED_LIBS)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/NeapLinked.cmake DESTINATION ${package} COMPONENT dev)
endif()
install(EXPORT neap NAMESPACE neap:: DESTINATION ${package} FILE neapTargets.cmake COMPONENT dev)

# pkg-config: `g++ -std=c++20 hello.cpp $(pkg-config --cflags --libs neap)`
set(private)
if(NEAP_CPU)
  list(APPEND private ${NEAP_LIB_LLVM})
endif()
if(NEAP_VULKAN)
  get_target_property(shaderc neap::shaderc INTERFACE_LINK_LIBRARIES)
  list(FILTER shaderc INCLUDE REGEX "\\.a$")
  list(APPEND private ${shaderc} -ldl)
endif()
list(APPEND private -lstdc++ -pthread)
list(JOIN private " " private)
set(linked "Libs: -L\${libdir} -lneap")
if(NOT BUILD_SHARED_LIBS)
  set(linked "${linked} ${private}\nRequires: fmt tbb")
endif()
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # it goes wherever --prefix says
configure_file(${PROJECT_SOURCE_DIR}/cmake/neap.pc.in ${PROJECT_BINARY_DIR}/neap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/neap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

set(CPACK_PACKAGE_NAME neap)
set(CPACK_PACKAGE_VENDOR Neap)
set(CPACK_PACKAGE_CONTACT "The authors of Neap <maintainers@neap.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_COMPONENTS_ALL dev tools)
if(BUILD_SHARED_LIBS)
  list(APPEND CPACK_COMPONENTS_ALL runtime)
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libneap)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS libvulkan1)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libneap-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME neap-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
if(BUILD_SHARED_LIBS)
  set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libneap (= ${PROJECT_VERSION})")
else()
  set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev, libtbb-dev, llvm-19-dev, libshaderc-dev, glslang-dev, spirv-tools")
endif()
include(CPack)
