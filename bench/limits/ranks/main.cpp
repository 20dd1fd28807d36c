// The programs of examples/mpi by hand: plain loops and MPI, one thread a rank.
//
//   mpirun -n 4 limits_ranks heat [ROWS OF A RANK] [COLUMNS] [STEPS]
//                            greeks [PATHS] [STEPS]
//                            nbody [BODIES OF A RANK]         sums in f32
//                            nbody64 [BODIES OF A RANK]       in f64, as Neap's are
//                            embedding [ROWS OF A RANK] [LOOKUPS OF A RANK] [WIDTH]
//                            transformer [STEPS]
//                            messages
//
// Each prints its speed as the example does; messages says how long one takes between ranks 0 and 1, empty and of a
// megabyte.
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/limits/limits.h"
#include "bench/limits/ranks/ranks.h"

namespace {

using limits::rank_of, limits::ranks, limits::seconds_of;

int64_t number(int argc, char** argv, int i, int64_t otherwise) {
  int64_t value = otherwise;
  if (argc > i) std::from_chars(argv[i], argv[i] + std::string_view(argv[i]).size(), value);
  return value;
}

// --- heat: rows with a row more on both sides, and a column.

class Plate {
 public:
  Plate(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), u_(static_cast<size_t>((rows + 2) * stride())), next_(u_.size()) {}

  float* row(int64_t i) { return u_.data() + (i + 1) * stride() + 1; }

  void steps(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      exchange();
      step();
      std::swap(u_, next_);
    }
  }

 private:
  int64_t stride() const { return columns_ + 2; }

  void exchange() {
    const int up = rank_of() > 0 ? rank_of() - 1 : MPI_PROC_NULL;
    const int down = rank_of() + 1 < ranks() ? rank_of() + 1 : MPI_PROC_NULL;
    const int count = static_cast<int>(columns_);
    MPI_Sendrecv(row(0), count, MPI_FLOAT, up, 0, row(rows_), count, MPI_FLOAT, down, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(rows_ - 1), count, MPI_FLOAT, down, 0, row(-1), count, MPI_FLOAT, up, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }

  void step() {
    for (int64_t i = 0; i < rows_; ++i) {
      const float *u = row(i), *up = row(i - 1), *down = row(i + 1);
      float* out = next_.data() + (i + 1) * stride() + 1;
      for (int64_t j = 0; j < columns_; ++j) out[j] = u[j] + 0.2f * (up[j] + down[j] + u[j - 1] + u[j + 1] - 4 * u[j]);
    }
  }

  int64_t rows_, columns_;
  std::vector<float> u_, next_;
};

void heat(int64_t rows, int64_t columns, int64_t steps) {
  std::vector<float> start(static_cast<size_t>(rows * columns), 0.5f), target(start.size(), 0.25f);
  Plate plate(rows, columns);
  const double seconds = seconds_of([&] {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(start.data() + i * columns, columns, plate.row(i));
    plate.steps(steps);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        plate.row(i)[j] = 2 * (plate.row(i)[j] - target[static_cast<size_t>(i * columns + j)]);
    plate.steps(steps);  // a step is its own adjoint
  });
  if (rank_of() == 0)
    fmt::print("heat and its adjoint: {} ranks, {:.4g} s\n{:.6g} million cells a second\n", ranks(), seconds,
               2e-6 * static_cast<double>(rows * ranks() * columns * steps) / seconds);
}

// --- greeks: the derivatives of a path's logarithm are known from its noise.

void greeks(int64_t paths, int64_t steps) {
  const float spot = 100, strike = 100, sigma = 0.2f, rate = 0.05f, dt = 1.0f / static_cast<float>(steps);
  const int64_t mine = paths / ranks(), first = mine * rank_of();
  std::vector<float> walk(static_cast<size_t>(mine)), total(walk.size()), z(walk.size());
  double sums[4];
  const double seconds = seconds_of([&] {
    std::fill(walk.begin(), walk.end(), 0.0f);
    std::fill(total.begin(), total.end(), 0.0f);
    for (int64_t s = 0; s < steps; ++s) {
      limits::normal_f32(1, static_cast<uint32_t>(s), z.data(), first, first + mine);
      for (size_t i = 0; i < z.size(); ++i) total[i] += walk[i] += z[i];
    }
    const float dates = static_cast<float>(steps), middle = (dates + 1) / 2;
    const float discount = std::exp(-rate), root = std::sqrt(dt);
    double value = 0, delta = 0, vega = 0, rho = 0;
    for (const float noise : total) {
      const float mean_noise = root * noise / dates;
      const float log = std::log(spot) + (rate - sigma * sigma / 2) * dt * middle + sigma * mean_noise;
      const float mean = std::exp(log), paid = discount * std::max(mean - strike, 0.0f);
      const float slope = mean > strike ? discount * mean : 0;
      value += paid, delta += slope / spot;
      vega += slope * (mean_noise - sigma * dt * middle), rho += slope * dt * middle - paid;
    }
    const double own[4] = {value, delta, vega, rho};
    MPI_Allreduce(own, sums, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  });
  if (rank_of() == 0)
    fmt::print(
        "Asian option: {} ranks, {:.4g} s\nprice {:.6g}, delta {:.6g}, vega {:.6g}, rho {:.6g}\n{:.6g} million steps a "
        "second\n",
        ranks(), seconds, sums[0] / static_cast<double>(paths), sums[1] / static_cast<double>(paths),
        sums[2] / static_cast<double>(paths), sums[3] / static_cast<double>(paths),
        1e-6 * static_cast<double>(paths * steps) / seconds);
}

// --- nbody: forces as they are, without the energy; blocks go round.

template <class Sum>
void nbody(int64_t bodies) {
  const auto n = static_cast<size_t>(bodies);
  std::vector<float> own(3 * n), visiting(3 * n), coming(3 * n), force(3 * n);
  for (size_t i = 0; i < own.size(); ++i)
    own[i] = std::sin(static_cast<float>(i + static_cast<size_t>(rank_of()) * own.size()));
  const int next = (rank_of() + 1) % ranks(), before = (rank_of() + ranks() - 1) % ranks();
  const double seconds = seconds_of([&] {
    visiting = own;
    std::fill(force.begin(), force.end(), 0.0f);
    for (int round = 0; round < ranks(); ++round) {
      MPI_Request requests[2];
      const int count = static_cast<int>(3 * n);
      MPI_Irecv(coming.data(), count, MPI_FLOAT, before, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(visiting.data(), count, MPI_FLOAT, next, 0, MPI_COMM_WORLD, &requests[1]);
      const float *x = visiting.data(), *y = x + n, *z = y + n;  // coordinates apart
      for (size_t i = 0; i < n; ++i) {
        Sum fx = 0, fy = 0, fz = 0;
#pragma clang loop vectorize(assume_safety)
        for (size_t j = 0; j < n; ++j) {
          const float dx = x[j] - own[i], dy = y[j] - own[n + i], dz = z[j] - own[2 * n + i];
          const float r2 = dx * dx + dy * dy + dz * dz + 0.01f, r = 1 / std::sqrt(r2), r3 = r * r * r;
          fx += dx * r3, fy += dy * r3, fz += dz * r3;
        }
        force[i] += static_cast<float>(fx);
        force[n + i] += static_cast<float>(fy);
        force[2 * n + i] += static_cast<float>(fz);
      }
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      std::swap(visiting, coming);
    }
  });
  if (rank_of() == 0)
    fmt::print("forces in a ring: {} ranks, {:.4g} s\n{:.6g} million pairs a second\n", ranks(), seconds,
               1e-6 * static_cast<double>(bodies * bodies) * ranks() * ranks() / seconds);
}

// --- embedding: ids go to the rank that has the row, rows come back; then what their loss changes by goes there.

// What goes to each rank, and comes from each, in items; the same in elements for items of more than one.
struct Exchange {
  std::vector<int> out, in, out_at, in_at;

  explicit Exchange(std::vector<int> counts) : out(std::move(counts)), in(out.size()) {
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
    place();
  }
  int received() const { return in_at.back() + in.back(); }
  Exchange of(int elements) const {
    Exchange more = *this;
    for (int& n : more.out) n *= elements;
    for (int& n : more.in) n *= elements;
    more.place();
    return more;
  }
  void there(const void* from, void* to, MPI_Datatype type) const {
    MPI_Alltoallv(from, out.data(), out_at.data(), type, to, in.data(), in_at.data(), type, MPI_COMM_WORLD);
  }
  void back(const void* from, void* to, MPI_Datatype type) const {
    MPI_Alltoallv(from, in.data(), in_at.data(), type, to, out.data(), out_at.data(), type, MPI_COMM_WORLD);
  }

 private:
  void place() {
    out_at.assign(out.size(), 0), in_at = out_at;
    std::exclusive_scan(out.begin(), out.end(), out_at.begin(), 0);
    std::exclusive_scan(in.begin(), in.end(), in_at.begin(), 0);
  }
};

void embedding(int64_t rows, int64_t lookups, int64_t width) {
  const auto w = static_cast<size_t>(width), n = static_cast<size_t>(lookups);
  std::mt19937 random(static_cast<unsigned>(rank_of()));
  std::normal_distribution<float> normal;
  std::vector<float> table(static_cast<size_t>(rows) * w), target(n * w), gradient(table.size());
  for (std::vector<float>* all : {&table, &target})
    for (float& x : *all) x = normal(random);
  const auto each = static_cast<uint32_t>(rows);  // divisions of 32 bits are the faster ones
  std::vector<uint32_t> ids(n);
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random() % (each * static_cast<uint32_t>(ranks())));
  std::vector<int> sorted(n), wanted;  // rows of their ranks, in order of those; rows that others want of this one
  std::vector<size_t> place(n);        // of each lookup among them
  std::vector<float> sent, got(n * w);
  const double seconds = seconds_of([&] {
    std::vector<int> counts(static_cast<size_t>(ranks()), 0);
    for (const uint32_t id : ids) ++counts[id / each];
    const Exchange lists(counts), arrays = lists.of(static_cast<int>(width));
    std::vector<int> next = lists.out_at;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t owner = ids[i] / each;
      place[i] = static_cast<size_t>(next[owner]++);
      sorted[place[i]] = static_cast<int>(ids[i] - owner * each);
    }
    wanted.resize(static_cast<size_t>(lists.received()));
    lists.there(sorted.data(), wanted.data(), MPI_INT);
    sent.resize(wanted.size() * w);
    for (size_t i = 0; i < wanted.size(); ++i) std::copy_n(&table[static_cast<size_t>(wanted[i]) * w], w, &sent[i * w]);
    arrays.back(sent.data(), got.data(), MPI_FLOAT);
    for (size_t i = 0; i < n; ++i) {
      float* own = &got[place[i] * w];
      for (size_t j = 0; j < w; ++j) own[j] -= target[i * w + j];
    }
    arrays.there(got.data(), sent.data(), MPI_FLOAT);
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    for (size_t i = 0; i < wanted.size(); ++i) {
      float* to = &gradient[static_cast<size_t>(wanted[i]) * w];
      for (size_t j = 0; j < w; ++j) to[j] += sent[i * w + j];
    }
  });
  if (rank_of() == 0)
    fmt::print("gradient of a table: {} ranks, {:.4g} s\n{:.6g} million lookups a second\n", ranks(), seconds,
               1e-6 * static_cast<double>(lookups * ranks()) / seconds);
}

// --- messages there and back.

void messages() {
  std::vector<char> data(1 << 20);
  const auto seconds = [&](int bytes, int times) {
    return seconds_of([&] {
             for (int i = 0; i < times && rank_of() < 2; ++i) {
               if (rank_of() == 0) MPI_Send(data.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
               MPI_Recv(data.data(), bytes, MPI_CHAR, 1 - rank_of(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               if (rank_of() == 1) MPI_Send(data.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
             }
           }) /
           (2 * times);
  };
  const double empty = seconds(0, 10000), large = seconds(static_cast<int>(data.size()), 1000);
  if (rank_of() == 0)
    fmt::print("an empty message: {:.3g} us; a megabyte: {:.3g} us, {:.3g} GB/s\n", 1e6 * empty, 1e6 * large,
               1e-9 * static_cast<double>(data.size()) / large);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string_view which = argc > 1 ? argv[1] : "";
  bool known = true;
  if (which == "heat")
    heat(number(argc, argv, 2, 64), number(argc, argv, 3, 256), number(argc, argv, 4, 100));
  else if (which == "greeks")
    greeks(number(argc, argv, 2, 1 << 18), number(argc, argv, 3, 64));
  else if (which == "nbody")
    nbody<float>(number(argc, argv, 2, 512));
  else if (which == "nbody64")
    nbody<double>(number(argc, argv, 2, 512));
  else if (which == "embedding")
    embedding(number(argc, argv, 2, 5000), number(argc, argv, 3, 2000), number(argc, argv, 4, 32));
  else if (which == "transformer")
    limits::transformer(number(argc, argv, 2, 10));
  else if (which == "messages" && ranks() > 1)
    messages();
  else {
    if (rank_of() == 0)
      fmt::print(stderr,
                 "limits_ranks heat|greeks|nbody|nbody64|embedding|transformer [SIZE]..., messages (2 ranks)\n");
    known = false;
  }
  MPI_Finalize();
  return known ? 0 : 2;
}
