// DLPack's structs (version 1), as its specification lays them out: memory of arrays, handed from library to library.
#pragma once

#include <cstdint>

namespace neap::python::dlpack {

inline constexpr int32_t kCpu = 1, kCudaHost = 3;

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  struct {
    uint32_t major, minor;
  } version;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  Tensor tensor;
};
inline constexpr uint64_t kReadOnly = 1, kCopied = 2;

}  // namespace neap::python::dlpack
