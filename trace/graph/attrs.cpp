#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string_view>

#include "core/check.h"
#include "core/hash.h"
#include "trace/graph/graph.h"
#include "trace/graph/host_call.h"
#include "trace/graph/mesh.h"

namespace neap::tracing {
namespace {

constexpr std::string_view kAttrNames[] = {
    "adds",       "after",        "axes",       "axis",     "backward",    "batch",     "body",         "callee",
    "copy",       "derivative",   "descending", "dilation", "dtype",       "forward",   "full",         "full_shape",
    "high",       "interior",     "label",      "length",   "lhs_axes",    "lhs_batch", "lhs_contract", "limit",
    "low",        "lower",        "marks",      "masked",   "matvec",      "mesh_axis", "mode",         "num_carry",
    "num_consts", "otherwise",    "out_axes",   "packed",   "permutation", "region",    "reverse",      "rhs_axes",
    "rhs_batch",  "rhs_contract", "saveable",   "shape",    "start",       "stride",    "transposed",   "unit",
    "value",      "vectors",
};
static_assert(std::size(kAttrNames) == static_cast<size_t>(Attr::vectors) + 1);

// Doubles compare by bits (a NaN equals itself, 0 differs from -0), sub-graphs by structure, axes of meshes by name,
// size and ranks.
bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) {
    return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(std::get<double>(b));
  }
  if (const GraphPtr* x = std::get_if<GraphPtr>(&a)) {
    const GraphPtr& y = std::get<GraphPtr>(b);
    return *x == y || (*x && y && **x == *y);
  }
  if (const MeshAxisPtr* x = std::get_if<MeshAxisPtr>(&a)) {
    const MeshAxisPtr& y = std::get<MeshAxisPtr>(b);
    return x->get() == y.get() || (*x && y && **x == *y);
  }
  return a == b;
}

struct HashValue {
  uint64_t operator()(int64_t v) const { return static_cast<uint64_t>(v); }
  uint64_t operator()(double v) const { return std::bit_cast<uint64_t>(v); }
  uint64_t operator()(DType v) const { return static_cast<uint64_t>(v); }
  uint64_t operator()(const Ints& v) const { return xxh3_64(v.data(), v.size() * sizeof(int64_t)); }
  uint64_t operator()(const std::string& v) const { return xxh3_64(v); }
  uint64_t operator()(const GraphPtr& v) const { return v ? v->hash() : 0; }
  uint64_t operator()(const HostFunctionPtr& v) const { return v ? v->number : 0; }
  uint64_t operator()(const MeshAxisPtr& v) const { return v ? xxh3_64(v->name) : 0; }
};

template <class T>
const T& get(const Attrs& attrs, Attr key, std::string_view kind) {
  const AttrValue* value = attrs.find(key);
  NEAP_CHECK(value, "attribute {} is missing", name(key));
  const T* typed = std::get_if<T>(value);
  NEAP_CHECK(typed, "attribute {} is no {}", name(key), kind);
  return *typed;
}

}  // namespace

std::string_view name(Attr attr) { return kAttrNames[static_cast<int>(attr)]; }

Attrs::Attrs(std::initializer_list<std::pair<Attr, AttrValue>> items) {
  for (const auto& [key, value] : items) set(key, value);
}

const Attrs::Items& Attrs::items() const {
  static const Items& kNone = *new Items;
  return items_ ? *items_ : kNone;
}

// Returns items that no copy shares, so that they may be changed.
Attrs::Items& Attrs::own() {
  if (!items_) {
    items_ = std::make_shared<Items>();
  } else if (items_.use_count() > 1) {
    items_ = std::make_shared<Items>(*items_);
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);  // after whatever threads that shared it have read
  }
  return *items_;
}

void Attrs::set(Attr key, AttrValue value) {
  Items& items = own();
  const auto it = std::ranges::lower_bound(items, key, {}, &Items::value_type::first);
  if (it != items.end() && it->first == key) {
    it->second = std::move(value);
  } else {
    items.emplace(it, key, std::move(value));
  }
}

void Attrs::erase(Attr key) {
  if (has(key)) std::erase_if(own(), [&](const Items::value_type& item) { return item.first == key; });
}

const AttrValue* Attrs::find(Attr key) const {
  if (!items_) return nullptr;
  const auto it = std::ranges::lower_bound(*items_, key, {}, &Items::value_type::first);
  return it != items_->end() && it->first == key ? &it->second : nullptr;
}

int64_t Attrs::integer(Attr key) const { return get<int64_t>(*this, key, "integer"); }

int64_t Attrs::integer_or(Attr key, int64_t otherwise) const { return has(key) ? integer(key) : otherwise; }

double Attrs::real(Attr key) const {
  const AttrValue* value = find(key);
  if (value && std::holds_alternative<int64_t>(*value)) return static_cast<double>(std::get<int64_t>(*value));
  return get<double>(*this, key, "number");
}

const Ints& Attrs::ints(Attr key) const { return get<Ints>(*this, key, "list of integers"); }
DType Attrs::dtype(Attr key) const { return get<DType>(*this, key, "dtype"); }
const std::string& Attrs::string(Attr key) const { return get<std::string>(*this, key, "string"); }
const GraphPtr& Attrs::graph(Attr key) const { return get<GraphPtr>(*this, key, "graph"); }
const HostFunctionPtr& Attrs::function(Attr key) const { return get<HostFunctionPtr>(*this, key, "function"); }
const MeshAxisPtr& Attrs::mesh_axis() const { return get<MeshAxisPtr>(*this, Attr::mesh_axis, "mesh axis"); }

bool Attrs::operator==(const Attrs& other) const {
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first && equal(a.second, b.second); };
  return items_ == other.items_ || std::ranges::equal(items(), other.items(), same);
}

size_t Attrs::hash() const {
  std::array<uint64_t, 2 * std::size(kAttrNames)> words;
  size_t count = 0;
  for (const auto& [key, value] : items()) {
    words[count++] = static_cast<uint64_t>(key) << 8 | value.index();
    words[count++] = std::visit(HashValue{}, value);
  }
  return xxh3_64(words.data(), count * sizeof(uint64_t));
}

}  // namespace neap::tracing
