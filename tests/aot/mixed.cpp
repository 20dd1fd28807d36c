// mixed INPUTS EXPECTED: runs a function of everything that saved functions call, writes its two arguments to one file
// and its results to the other. With NEAP_DUMP its graph is written too.
#include <neap/neap.h>

#include <cstdio>
#include <tuple>

using neap::Array;

namespace {

constexpr int64_t kSize = 24;

struct Results {
  Array product, order, solution, special;
};

Results mixed(const Array& a, const Array& b) {  // f32 [24, 24] each
  const Array product = neap::matmul(a, b);
  const Array spd = neap::matmul(a, neap::transpose(a)) + float(kSize) * neap::eye(kSize);
  const Array order = neap::argsort(neap::sum(product, 1), 0);
  const Array slope = neap::grad([](const Array& x) { return neap::sum(neap::sin(neap::linalg::cholesky(x))); })(spd);
  const Array start = neap::linalg::solve(spd, b) + slope;
  const Array solution = neap::fori_loop(
      0, 7,
      [&](const Array& i, const Array& x) {
        return neap::sin(x) + 0.1f * neap::sort(x, 0) + 0.01f * neap::convert(i, neap::f32);
      },
      start);
  return {product, order, solution, neap::lgamma(neap::abs(a) + 0.5f) + neap::erf_inv(neap::tanh(b) * 0.9f)};
}

void write(std::FILE* file, const Array& x) {
  std::fwrite(x.dtype() == neap::i32 ? static_cast<const void*>(x.data<int32_t>()) : x.data<float>(), 4,
              static_cast<size_t>(x.size()), file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const neap::Shape shape{kSize, kSize};
  const Array a = neap::random::normal(neap::random::key(1), shape),
              b = neap::random::normal(neap::random::key(2), shape);
  const Results r = neap::jit(mixed, {.name = "mixed"})(a, b);
  std::FILE* const inputs = std::fopen(argv[1], "wb");
  std::FILE* const expected = std::fopen(argv[2], "wb");
  if (!inputs || !expected) return 2;
  for (const Array& x : {a, b}) write(inputs, x);
  for (const Array& x : {r.product, r.order, r.solution, r.special}) write(expected, x);
  return std::fclose(inputs) == 0 && std::fclose(expected) == 0 ? 0 : 2;
}
