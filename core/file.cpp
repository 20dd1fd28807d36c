// What is the same on every system; the rest is in core/os/.
#include "core/file.h"

namespace neap {

void write_file_atomic(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents.data(), contents.size());
  file.commit();
}

}  // namespace neap
