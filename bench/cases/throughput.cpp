// throughput: operations on arrays so long that what each byte and each multiplication costs is all that is seen: what
// a device's memory and its units of arithmetic are held against (bench/README.md, Throughput). The size is a part of
// the longest extents, in thousandths.
#include <cmath>

#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;
using neap::DType;

constexpr int64_t kLong = int64_t{1} << 28, kSide = 16384, kKeys = int64_t{1} << 26, kTable = int64_t{1} << 24;

template <class F>
std::unique_ptr<Job> on_vector(const Request& r, F f) {
  const int64_t n = part_of(kLong, r);
  return uniform_job(r, f, static_cast<double>(n), spec_of({n}));
}

template <class F>
std::unique_ptr<Job> on_square(const Request& r, F f) {
  const int64_t n = part_of(kSide, r);
  return uniform_job(r, f, static_cast<double>(n * n), spec_of({n, n}));
}

std::unique_ptr<Job> add(const Request& r) {
  const int64_t n = part_of(kLong, r);
  return uniform_job(
      r, [](const Array& x, const Array& y) { return x + y; }, static_cast<double>(n), spec_of({n}), spec_of({n}));
}

Array chain(const Array& x) {
  const Array y = neap::sqrt(neap::abs(2.0f * x + 1.0f)), z = neap::maximum(y - x * x, 0.25f * x);
  return z / (1.0f + neap::abs(z));
}

// What a key draws: nothing is read.
std::unique_ptr<Job> uniform(const Request& r) {
  const int64_t n = part_of(kLong, r);
  auto job = make_job(
      r, [=](const Array& key) { return neap::random::uniform(key, {n}); }, std::tuple{spec_of({2}, neap::u32)},
      [] { return std::tuple{neap::random::key(42)}; });
  job->elements = static_cast<double>(n);
  return job;
}

std::unique_ptr<Job> sort(const Request& r) {
  const int64_t n = part_of(kKeys, r);
  return uniform_job(r, [](const Array& x) { return neap::sort(x); }, static_cast<double>(n), spec_of({n}));
}

// f of uniform numbers and of so many indices below `limit`.
template <class F>
std::unique_ptr<Job> indexed(const Request& r, F f, double elements, const neap::Shape& shape, int64_t indices,
                             int64_t limit) {
  auto job = make_job(r, f, std::tuple{spec_of(shape), spec_of({indices}, neap::i32)},
                      [=] { return std::tuple{host_uniform(shape, neap::f32, 1), host_indices({indices}, limit, 2)}; });
  job->elements = elements;
  return job;
}

std::unique_ptr<Job> gather(const Request& r) {
  const int64_t n = part_of(kKeys, r), table = part_of(kTable, r);
  const auto f = [](const Array& x, const Array& at) { return neap::take(x, at); };
  return indexed(r, f, static_cast<double>(n), {table}, n, table);
}

std::unique_ptr<Job> gather_rows(const Request& r) {
  const int64_t n = part_of(kKeys / 64, r), table = part_of(kTable / 64, r);
  const auto f = [](const Array& x, const Array& at) { return neap::take(x, at); };
  return indexed(r, f, static_cast<double>(n * 64), {table, 64}, n, table);
}

// Numbers added up in so many bins.
std::unique_ptr<Job> scatter(const Request& r, int64_t bins) {
  const int64_t n = part_of(kKeys, r);
  const auto f = [=](const Array& x, const Array& at) { return neap::zeros({bins}).at({at}).add(x); };
  return indexed(r, f, static_cast<double>(n), {n}, n, bins);
}

std::unique_ptr<Job> product(const Request& r, DType dtype) {
  const int64_t n = part_of(8192, r);
  const Array side = spec_of({n, n}, dtype);
  return uniform_job(
      r, [](const Array& a, const Array& b) { return neap::matmul(a, b); }, std::pow(static_cast<double>(n), 3), side,
      side);
}

constexpr Form kForms[] = {
    {"negate", [](const Request& r) { return on_vector(r, [](const Array& x) { return -x; }); }},
    {"add", add},
    {"chain", [](const Request& r) { return on_vector(r, chain); }},
    {"exp", [](const Request& r) { return on_vector(r, [](const Array& x) { return neap::exp(x); }); }},
    {"uniform", uniform},
    {"transpose", [](const Request& r) { return on_square(r, [](const Array& x) { return neap::transpose(x); }); }},
    {"sum", [](const Request& r) { return on_vector(r, [](const Array& x) { return neap::sum(x); }); }},
    {"row-sums", [](const Request& r) { return on_square(r, [](const Array& x) { return neap::sum(x, 1); }); }},
    {"column-sums", [](const Request& r) { return on_square(r, [](const Array& x) { return neap::sum(x, 0); }); }},
    {"softmax", [](const Request& r) { return on_square(r, [](const Array& x) { return neap::softmax(x); }); }},
    {"cumsum", [](const Request& r) { return on_vector(r, [](const Array& x) { return neap::cumsum(x); }); }},
    {"sort", sort},
    {"gather", gather},
    {"gather-rows", gather_rows},
    {"scatter-16", [](const Request& r) { return scatter(r, 16); }},
    {"scatter-64k", [](const Request& r) { return scatter(r, int64_t{1} << 16); }},
    {"scatter-16m", [](const Request& r) { return scatter(r, kTable); }},
    {"matmul", [](const Request& r) { return product(r, neap::f32); }},
    {"matmul-f16", [](const Request& r) { return product(r, neap::f16); }},
    {"matmul-bf16", [](const Request& r) { return product(r, neap::bf16); }},
};

}  // namespace

void add_throughput_cases(std::vector<Case>& cases) {
  Case c;
  c.name = "throughput";
  c.what = "operations on long arrays, held against a device's memory and units (bench/README.md, Throughput)";
  c.size_means = "thousandths of the longest extents";
  c.size = {50};
  c.full = {1000};
  c.has_peers = true;
  offer_forms(c, kForms);
  cases.push_back(c);
}

}  // namespace bench
