// gather-forward, gather-grad, gather-grad-nonlinear: elements of a 128 x 128 x 128 table named by rows of three
// indices.
#include "bench/job.h"

namespace bench {
namespace {

using neap::Array;

constexpr int64_t kSide = 128;

// x at the rows of index: the two ways in which users write it.
Array read_rows(const Array& x, const Array& index, bool tuple_form) {
  if (!tuple_form) return neap::gather(x, index);
  const std::vector<Array> columns = neap::split(index, 3, 1);  // three [n, 1]
  return x[{columns[0], columns[1], columns[2]}][{neap::ellipsis, 0}];
}

Array table() { return host_uniform({kSide, kSide, kSide}, neap::f32, 3); }
Array table_spec() { return neap::spec({kSide, kSide, kSide}, neap::f32); }

template <class J>
std::unique_ptr<Job> sized(J job, const Request& r, size_t output_bytes) {
  job->output_bytes = output_bytes;
  job->elements = static_cast<double>(r.shape[0]);
  return job;
}

// The indices to close over: they must exist before the function can be planned.
Array captured_rows(const Request& r, int64_t n, neap::DType dtype) {
  const size_t bytes = neap::spec({n, 3}, dtype).bytes() + table_spec().bytes();
  if (missing_memory(bytes)) throw DoesNotFit{bytes};
  return neap::to_device(index_rows(n, dtype, false, false), device_of(r));
}

// `of` makes the function to run from the loss: itself, its gradient, ...
template <class Of>
std::unique_ptr<Job> with_form(const Request& r, size_t output_bytes, Of of) {
  const int64_t n = r.shape[0];
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const bool tuple_form = r.form == "tuple", negative = r.form == "negative";
  if (r.form == "captured") {
    const Array index = captured_rows(r, n, dtype);
    const auto loss = [index](const Array& x) { return neap::sum(read_rows(x, index, false) * 2.5f); };
    auto job = make_job(r, of(loss), std::tuple{table_spec()}, [] { return std::tuple{table()}; });
    job->argument_bytes += index.bytes();
    return sized(std::move(job), r, output_bytes);
  }
  const auto loss = [tuple_form](const Array& x, const Array& index) {
    return neap::sum(read_rows(x, index, tuple_form) * 2.5f);
  };
  return sized(make_job(r, of(loss), std::tuple{table_spec(), neap::spec({n, 3}, dtype)},
                        [=] { return std::tuple{table(), index_rows(n, dtype, negative, false)}; }),
               r, output_bytes);
}

std::unique_ptr<Job> build_forward(const Request& r) {
  return with_form(r, sizeof(float), [](auto loss) { return loss; });
}

std::unique_ptr<Job> build_grad(const Request& r) {
  return with_form(r, sizeof(float) * kSide * kSide * kSide, [](auto loss) { return neap::grad(loss); });
}

// sum(sin(x[index]) * w). Forms that end in -skewed send half of the rows to one cell.
std::unique_ptr<Job> build_nonlinear(const Request& r) {
  const int64_t n = r.shape[0];
  const neap::DType dtype = *neap::parse_dtype(r.dtype);
  const bool skewed = r.form.ends_with("skewed"), tuple_form = r.form == "tuple", negative = r.form == "negative";
  const std::string what = r.form.substr(0, r.form.find("-skewed"));
  const auto loss = [tuple_form](const Array& x, const Array& w, const Array& index) {
    return neap::sum(neap::sin(read_rows(x, index, tuple_form)) * w);
  };
  const std::tuple specs{table_spec(), neap::spec({n}, neap::f32), neap::spec({n, 3}, dtype)};
  const auto make = [=] {
    return std::tuple{table(), host_uniform({n}, neap::f32, 4), index_rows(n, dtype, negative, skewed)};
  };
  const size_t cube = sizeof(float) * kSide * kSide * kSide, weights = sizeof(float) * static_cast<size_t>(n);
  if (what == "value") return sized(make_job(r, loss, specs, make), r, sizeof(float));
  if (what == "grad-w") return sized(make_job(r, neap::grad<1>(loss), specs, make), r, weights);
  if (what == "value-and-grads") {
    return sized(make_job(r, neap::value_and_grad<0, 1>(loss), specs, make), r, sizeof(float) + cube + weights);
  }
  if (what == "hvp") {
    const auto hvp = [loss](const Array& x, const Array& w, const Array& index, const Array& v) {
      const auto in_x = [&](const Array& y) { return loss(y, w, index); };
      const auto [gradient, product] = neap::jvp(neap::grad(in_x), std::tuple{x}, std::tuple{v});
      return product;
    };
    return sized(
        make_job(
            r, hvp, std::tuple_cat(specs, std::tuple{table_spec()}),
            [make] { return std::tuple_cat(make(), std::tuple{host_uniform({kSide, kSide, kSide}, neap::f32, 5)}); }),
        r, cube);
  }
  if (what == "captured") {
    const Array index = captured_rows(r, n, dtype);
    const auto closed = [loss, index](const Array& x, const Array& w) { return loss(x, w, index); };
    auto job = make_job(r, neap::grad(closed), std::tuple{table_spec(), neap::spec({n}, neap::f32)},
                        [n] { return std::tuple{table(), host_uniform({n}, neap::f32, 4)}; });
    job->argument_bytes += index.bytes();
    return sized(std::move(job), r, cube);
  }
  return sized(make_job(r, neap::grad(loss), specs, make), r, cube);
}

}  // namespace

void add_gather_cases(std::vector<Case>& cases) {
  Case c;
  c.size_means = "rows";
  c.size = {int64_t{1} << 24};
  c.full = {int64_t{1} << 33};
  c.dtypes = {"i32", "i16", "u8", "i64", "u16", "u32"};
  c.forms = {"row", "tuple", "negative", "captured"};
  c.name = "gather-forward";
  c.what = "sum(x[index] * 2.5), x f32[128,128,128], index [rows, 3]";
  c.has_peers = true;
  c.build = build_forward;
  cases.push_back(c);
  c.name = "gather-grad";
  c.what = "the gradient of gather-forward in x";
  c.build = build_grad;
  cases.push_back(c);
  c.name = "gather-grad-nonlinear";
  c.what = "sum(sin(x[index]) * w): gradient in x; in w; both and the value; Hessian times vector; skewed indices";
  c.full = {int64_t{1} << 26};
  c.forms = {"row",   "tuple", "negative",        "captured",   "skewed",
             "value", "hvp",   "value-and-grads", "hvp-skewed", "grad-w"};
  c.has_peers = false;
  c.build = build_nonlinear;
  cases.push_back(c);
}

}  // namespace bench
