#!/usr/bin/env python3
"""Makes python/THIRD_PARTY_NOTICES, which the wheel carries: who wrote what is linked into it, and under which licences.

make_notices.py NANOBIND: texts are those of Debian 12's packages (/usr/share/doc/*/copyright, without what concerns Debian's own
packaging files) and of the installed nanobind, whose folder NANOBIND `python -m nanobind --include_dir` names (its parent).
"""

import pathlib
import re
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent / "python/THIRD_PARTY_NOTICES"
PACKAGES = [  # what it is, its Debian package, its licence in a word
    ("LLVM 19", "llvm-19-dev", "Apache-2.0 WITH LLVM-exception"),
    ("oneTBB", "libtbb12", "Apache-2.0"),
    ("fmt", "libfmt9", "MIT"),
    ("shaderc", "libshaderc-dev", "Apache-2.0"),
    ("glslang", "glslang-dev", "BSD-3-Clause and others, below"),
    ("SPIRV-Tools", "spirv-tools", "Apache-2.0"),
    ("Eigen", "libeigen3-dev", "MPL-2.0 (built with EIGEN_MPL2_ONLY)"),
    ("JSON for Modern C++", "nlohmann-json3-dev", "MIT"),
    ("xxHash", "libxxhash-dev", "BSD-2-Clause"),
    ("volk", "libvulkan-volk-dev", "MIT"),
    ("Vulkan headers", "libvulkan-dev", "Apache-2.0"),
    ("Zstandard", "libzstd-dev", "BSD-3-Clause (of the two that it offers)"),
    ("zlib", "zlib1g-dev", "Zlib"),
]
HEAD = """Neap's Python package is linked with the libraries below, or holds parts of them. Their notices follow; Neap's own licence is
LICENSE beside this file, where the text of the Apache License 2.0 is, too.

Eigen is under the Mozilla Public License 2.0, <https://mozilla.org/MPL/2.0/>, unchanged; its source is at
<https://gitlab.com/libeigen/eigen>.

Most notices are Debian's, of whole source packages: they also name programs, tests and documents that are not in the wheel.
"""


def without_packaging(text):
    """A Debian copyright file without the paragraphs on files under debian/, and without licences that nothing else is under."""
    paragraphs = re.split(r"\n\s*\n(?=\S)", text.strip())
    own = [p for p in paragraphs if not re.match(r"Files:\s*debian/\S*\s*$", p, re.MULTILINE)]
    named = {p.split("\n", 1)[0] for p in own if p.startswith("License:")}
    used = "\n".join(p for p in own if not p.startswith("License:"))
    unused = {line for line in named if not any(short in used for short in re.findall(r"[\w.+-]+", line.removeprefix("License:")))}
    return "\n\n".join(p for p in own if p.split("\n", 1)[0] not in unused)


def section(name, licence, text):
    return f"\n{'=' * 100}\n{name}: {licence}\n{'=' * 100}\n\n{text.strip()}\n"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0])
    licence = next(folder.parent.glob("nanobind-*.dist-info/licenses/LICENSE")).read_text(encoding="utf-8")
    header = next(folder.rglob("robin_map.h")).read_text(encoding="utf-8")
    robin = re.match(r"/\*\*?(.*?)\*/", header, re.DOTALL)[1]
    out = HEAD
    for name, package, word in PACKAGES:
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8")
        out += section(name, word, without_packaging(text))
    out += section("nanobind", "BSD-3-Clause", licence)
    out += section("robin_map, within nanobind", "MIT", re.sub(r"^ \* ?", "", robin, flags=re.MULTILINE))
    OUT.write_text("\n".join(line.rstrip() for line in out.split("\n")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
