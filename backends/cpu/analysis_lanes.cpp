// This chooses how many lanes a kernel gets, and which of its loads share wide ones.
#include <algorithm>
#include <numeric>

#include "backends/cpu/analysis.h"

namespace neap::cpu {

using scalar::Inst;
using scalar::Opcode;

namespace {

// Lanes of a sum along the lanes: element i is added to accumulator i mod 16, whatever else the kernel computes and
// whatever the machine, so that fusing or chunking a reduction keeps its bits.
constexpr int kAccumulators = 16;

}  // namespace

bool Analysis::counts_from(int32_t id, int64_t unit) const {
  const Linear* sum = linear(id);
  if (!sum || !sum->exact || range(id).lo < 0 || stride(*sum) != 1 || sum->constant % unit != 0) return false;
  return std::ranges::all_of(sum->terms,
                             [&](const auto& term) { return is_vector_index(term.first) || term.second % unit == 0; });
}

// Ranges of loops begin at multiples of kRangeUnit (program.cpp), but for the rows of a scatter; stretches say where
// their vectors begin.
void Analysis::find_shared() {
  constexpr int kProducts = 16;  // multiplications that show philox, of which a block has 20
  int products = 0;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) products += kernel.dag[id].op == Opcode::mulhi ? 1 : 0;
  if (products < kProducts || kernel.kind == backends::Kernel::Kind::scatter) return;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& i = kernel.dag[id];
    if (!facts_[id].varying || facts_[id].linear || i.op == Opcode::load || i.op == Opcode::index) continue;
    int shared = within_ ? static_cast<int>(std::gcd(within_->begins_at, 4)) : 4;
    if (i.op == Opcode::div && kernel.dag[i.b].op == Opcode::constant && is_integer(i.type)) {
      while (shared > 1 && (kernel.dag[i.b].imm % static_cast<uint64_t>(shared) != 0 || !counts_from(i.a, shared)))
        shared /= 2;
    } else {
      for (const int32_t operand : {i.a, i.b, i.c}) {
        if (operand >= 0 && facts_[operand].varying) shared = std::min(shared, facts_[operand].shared);
      }
    }
    facts_[id].shared = shared;
    if (shared > 1) shares_ = shares_ > 1 ? std::min(shares_, shared) : shared;
  }
}

// A transpose of [n, 4, 4] of f32 reads one register and permutes it. From more than a few registers on lanes are
// better loaded one by one.
const backends::LanePattern* Analysis::pattern(int32_t address, int lanes) const {
  if (kernel.any_range || kernel.kind == backends::Kernel::Kind::scatter || lanes == 1) return nullptr;
  if (within_ && within_->begins_at % lanes != 0) return nullptr;
  auto of = patterns_.find(lanes);
  if (of == patterns_.end()) {
    std::vector<bool> exact, varies;
    for (int32_t id = 0; id < kernel.dag.size(); ++id) {
      exact.push_back(is_exact(id));
      varies.push_back(facts_[id].varying);
    }
    backends::LanePatterns patterns(kernel.dag, kernel.vector_level, lanes, std::move(exact), std::move(varies));
    of = patterns_.emplace(lanes, std::move(patterns)).first;
  }
  const backends::LanePattern* found = of->second.of(address);
  return found && found->most() - found->least() < most_registers_ * lanes ? found : nullptr;
}

// One register's worth of lanes for little data, else two, to have independent instructions in flight; four for random
// bits, which are one long chain of dependent instructions, eight where four lanes share it. More lanes are more code,
// and code is slow to compile. Little is 4096 elements; 16 rotations or high products show random bits. No measurement
// is recorded: neap-cost takes the time of kernels, `neap-bench --case first-call` that of compiling.
void Analysis::choose_lanes(const VectorUnit& unit) {
  using Kind = backends::Kernel::Kind;
  int count[9] = {}, total = 0, rotations = 0;
  const auto only_accumulated = [&](int32_t id) {  // widened for the sum: as good as part of the addition
    return kernel.dag[id].op == Opcode::convert &&
           std::ranges::any_of(kernel.reductions, [&](const auto& r) { return r.value == id; });
  };
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    if (!needed(id) || !varying(id) || kernel.dag[id].type == DType::bool_ || only_accumulated(id)) continue;
    ++count[size_of(kernel.dag[id].type)];
    ++total;
    if (kernel.dag[id].op == Opcode::rotl || kernel.dag[id].op == Opcode::mulhi) ++rotations;
  }
  const bool wide = 3 * count[8] > total;
  int size = wide ? 8 : count[4] + count[8] > 0 ? 4 : count[2] > 0 ? 2 : count[1] > 0 ? 1 : 4;
  // Accumulators, of 32 or 64 bits, of one- and two-byte values would not fit the registers.
  if (kernel.kind == Kind::reduce) size = std::max(size, 4);
  const int one = unit.bits / 8 / size;
  const double elements = static_cast<double>(kernel.extent[0]) * static_cast<double>(kernel.extent[1]);
  lanes = 2 * one;
  if (elements < 4096 || (kernel.kind == Kind::map && crosses())) lanes = one;
  if (elements >= 4096 && rotations >= 16) lanes = (shares_ == 4 ? 8 : 4) * one;
  if (kernel.kind == Kind::reduce && vector_depth == 1 && elements >= 1 << 16 && total < 16) lanes = 4 * one;
  // Each step waits for the one before: of several registers' worth at once some have what they need.
  if (!kernel.carried.empty() && vector_depth == 1) lanes = (total < 24 ? 4 : 2) * one;
  tail_lanes = one;
  if (kernel.kind == Kind::reduce && vector_depth == 2) {
    lanes = std::max(lanes, kAccumulators);
    tail_lanes = kAccumulators;
  }
  lanes = std::min(lanes, 64);  // callers cut ranges at multiples of it
  while (lanes > 1 && lanes / 2 >= length()) lanes /= 2;
  tail_lanes = std::min(lanes, tail_lanes);
  // What is left over of columns goes at once where it can be masked: each vector of it would go through all rows.
  const bool masks = unit.bits == 512 || (unit.avx2 && count[1] + count[2] == 0);
  if (kernel.kind == Kind::reduce && vector_depth == 1 && masks && !takes_columns() && length() % lanes > tail_lanes) {
    tail_lanes = lanes;
  }
}

void Analysis::group_strided_loads() {
  struct Item {
    const Linear* address;
    int32_t load;
  };
  std::vector<Item> items;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& i = kernel.dag[id];
    if (i.op == Opcode::load && needed(id) && varying(id) && access(i.a) == Access::strided) {
      items.push_back({linear(i.a), id});
    }
  }
  const auto key = [&](const Item& x) { return std::make_pair(kernel.dag[x.load].imm, x.address->terms); };
  std::sort(items.begin(), items.end(), [&](const Item& x, const Item& y) {
    return std::make_pair(key(x), x.address->constant) < std::make_pair(key(y), y.address->constant);
  });
  const Item* first = nullptr;
  for (const Item& item : items) {
    const int64_t s = stride(*item.address);
    if (!first || key(*first) != key(item) || item.address->constant - first->address->constant >= s) {
      first = &item;
      groups_.push_back({static_cast<int>(kernel.dag[item.load].imm), s, {}});
    }
    groups_.back().loads.emplace_back(item.address->constant - first->address->constant, item.load);
    facts_[item.load].group = static_cast<int>(groups_.size()) - 1;
  }
}

// Columns of rows that come from memory are read some rows at a time, from the first column to the last, so that
// processors fetch ahead along rows: a column of registers at a time jumps from row to row. Each result goes on where
// it stopped, in the same order. 4096 x 4096 of f32, one thread: 2.8 ms for 6.5 (Zen 5); four rows or sixteen take 3.1.
// A line of each is read in turn where there is little to compute: by hand, 8192 x 8192 of f32, one thread of Zen
// 4, 11.0 ms for 13.3 with four lines of each, 17 with as few columns as 1024, and 10.7 for the sum of all.
bool Analysis::takes_columns() const {
  constexpr int64_t kFewestVectors = 4;
  if (length() < kFewestVectors * lanes) return false;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& i = kernel.dag[id];
    const Linear* address = i.op == Opcode::load && needed(id) && varying(id) ? linear(i.a) : nullptr;
    if (address && address->exact && jumps_down(*address, static_cast<int64_t>(size_of(i.type)))) return true;
  }
  return false;
}

bool Analysis::jumps_down(const Linear& address, int64_t element_bytes) const {
  constexpr int64_t kFewestRows = 64, kFarApart = 1024;
  if (kernel.kind != backends::Kernel::Kind::reduce || vector_depth != 1 || kernel.extent[1] < kFewestRows)
    return false;
  return std::abs(along(address, 1)) * element_bytes >= kFarApart;
}

}  // namespace neap::cpu
