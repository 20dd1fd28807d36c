# An overlay port of this checkout: vcpkg install neap --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES cpu NEAP_CPU vulkan NEAP_VULKAN)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DNEAP_TESTS=OFF -DNEAP_BENCH=OFF -DNEAP_EXAMPLES=OFF -DNEAP_TOOLS=OFF -DNEAP_WERROR=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/neap)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
