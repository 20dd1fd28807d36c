"""Conan 2: `conan create packaging/conan --build=missing`; `-o neap/*:system=True` takes what the distribution has
(`./neap setup` installs it on Debian) in place of Conan's own packages.
"""

import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Neap(ConanFile):
    name = "neap"
    license = "Apache-2.0"
    description = "A C++20 array framework that knows its peak memory before it runs"
    topics = ("arrays", "autodiff", "jit", "memory", "vulkan")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "cpu": [True, False], "vulkan": [True, False], "system": [True, False]}
    default_options = {"shared": False, "fPIC": True, "cpu": True, "vulkan": True, "system": False}

    @property
    def _root(self):
        return pathlib.Path(self.recipe_folder).parent.parent

    def set_version(self):
        header = (self._root / "include/neap/version.h").read_text()
        self.version = ".".join(re.search(rf"NEAP_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "core/*", "trace/*", "autodiff/*", "planner/*", "backends/*",
                        "jit/*", "tools/debuggers/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        if self.options.system:
            return
        self.requires("fmt/[>=9]")
        self.requires("onetbb/[>=2021.8]")
        self.requires("eigen/3.4.0")
        self.requires("nlohmann_json/[>=3.11]")
        self.requires("xxhash/[>=0.8]")
        if self.options.cpu:
            self.requires("llvm-core/[>=19.1 <20]")
        if self.options.vulkan:
            self.requires("volk/[>=1.3]")
            self.requires("shaderc/[>=2023]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["NEAP_CPU"] = bool(self.options.cpu)
        toolchain.cache_variables["NEAP_VULKAN"] = bool(self.options.vulkan)
        for part in ("TESTS", "BENCH", "EXAMPLES", "TOOLS", "WERROR"):
            toolchain.cache_variables[f"NEAP_{part}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, self.package_folder)
        CMake(self).install()

    def package_info(self):
        self.cpp_info.builddirs = ["lib/cmake/neap"]  # the package files of Neap itself
        self.cpp_info.set_property("cmake_find_mode", "none")
