// Makes programs at random as people write them: layers, attention, convolutions between transposes, recurrences, steps
// of training; at sizes at which plans matter. They are planned, not run.
#pragma once

#include <neap/neap.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {

class ModelProgram {
 public:
  explicit ModelProgram(uint64_t seed) : random_(seed) {}

  Graph graph;
  std::string said;  // "grad of dense, attend, ..."

  void make() {
    const size_t kind = pick(8);
    if (kind == 0) return hessian_of_dense();
    if (kind == 1) return paths();
    if (kind == 2) return lines();
    if (pick(2))
      shape_ = {size(64, 4096), size(8, 512)};
    else
      shape_ = {size(2, 16), size(8, 32), size(8, 32), size(4, 64)};
    inputs_ = {{shape_, f32}};
    for (size_t i = 0, n = 2 + pick(4); i < n; ++i) add_layer();
    transform();
  }

 private:
  using Weights = std::span<const Array>;
  struct Layer {
    size_t first, weights;  // of the inputs
    std::function<Array(const Array& x, Weights w)> f;
  };

  size_t pick(size_t n) { return random_() % n; }
  int64_t size(int64_t least, int64_t most) {
    while (least < most && pick(3)) least *= 2;
    return least;
  }
  int64_t elements() const { return element_count(shape_); }

  void add(const std::string& name, const std::vector<Shape>& weights, std::function<Array(const Array&, Weights)> f) {
    layers_.push_back({inputs_.size(), weights.size(), std::move(f)});
    for (const Shape& w : weights) inputs_.push_back({w, f32});
    said += name + " ";
  }

  static Array bent(const Array& x, size_t how) {
    switch (how) {
      case 0: return tanh(x);
      case 1: return relu(x);
      case 2: return gelu(x);
      case 3: return softplus(x);
      default: return silu(x);
    }
  }

  void add_layer() {
    if (shape_.size() == 2) return add_to_matrix();
    return add_to_images();
  }

  void add_to_matrix() {
    const int64_t rows = shape_[0], columns = shape_[1];
    const bool few_rows = rows <= 2048;
    switch (pick(12)) {
      case 0:
      case 1: {
        const int64_t next = size(8, 512);
        const bool residual = pick(2) && next == columns;
        add("dense", {{columns, next}, {next}}, [residual, how = pick(5)](const Array& x, Weights w) {
          const Array y = bent(matmul(x, w[0]) + w[1], how);
          return residual ? x + y : y;
        });
        shape_ = {rows, next};
        return;
      }
      case 2:
        if (!few_rows) return;
        return add("attend", {{columns, columns}}, [](const Array& x, Weights w) {
          const Array scores = softmax(matmul(matmul(x, w[0]), transpose(x)) * 0.1f);
          return x + matmul(scores, x);
        });
      case 3:
        if (!few_rows || columns > 16) return;
        return add("pairs", {}, [](const Array& x, Weights) {
          const Array apart = expand_dims(x, 1) - expand_dims(x, 0);
          return matmul(exp(-sum(square(apart), 2)), x);
        });
      case 4: {
        const int64_t axis = static_cast<int64_t>(pick(2));
        return add("normalize", {{columns}}, [axis](const Array& x, Weights w) {
          const Array middle = mean(x, axis, true), spread = mean(square(x - middle), axis, true);
          return (x - middle) * rsqrt(spread + 1e-5f) * w[0];
        });
      }
      case 5:
        return add("recurrence", {{columns}}, [reverse = pick(2) == 0](const Array& x, Weights w) {
          using Line = std::pair<Array, Array>;  // x -> first * x + second
          const auto join = [](const Line& a, const Line& b) {
            return Line{a.first * b.first, b.first * a.second + b.second};
          };
          return associative_scan(join, Line{sigmoid(x * w[0]), x}, reverse).second;
        });
      case 6: return add("cumsum", {}, [](const Array& x, Weights) { return cumsum(x, 0) * 0.01f; });
      case 7:
        return add("loop", {{columns, columns}}, [n = size(2, 64)](const Array& x, Weights w) {
          return fori_loop(0, n, [&](const Array&, const Array& c) { return tanh(matmul(c, w[0])); }, x);
        });
      case 8:
        return add("rnn", {{columns, columns}}, [](const Array& x, Weights w) {
          const auto step = [&](const Array& c, const Array& row) {
            const Array next = tanh(matmul(c, w[0]) + row);
            return std::pair{next, next};
          };
          return scan(step, zeros({x.shape(1)}), x).second;
        });
      case 9:
        return add("embed", {{1000, columns}}, [](const Array& x, Weights w) {
          return x + take(w[0], (abs(x[{slice(), 0}]) * 100.0f).astype(i32), 0);
        });
      case 10: return add("sort", {}, [](const Array& x, Weights) { return sort(x, 0) - x; });
      default: {
        if (columns < 4 || rows % 16 != 0) return;
        const Shape images{rows / 16, 4, 4, columns};
        shape_ = images;
        return add("images", {}, [images](const Array& x, Weights) { return reshape(x, images); });
      }
    }
  }

  void add_to_images() {
    const int64_t channels = shape_[3];
    switch (pick(6)) {
      case 0:
      case 1:
      case 2: {  // channels last outside, first inside
        const int64_t next = pick(2) ? channels : size(4, 64), side = pick(3) ? 3 : 1;
        const bool residual = pick(2) && next == channels;
        add("conv", {{next, channels, side, side}}, [residual, how = pick(5)](const Array& x, Weights w) {
          const Array y = conv_general(transpose(x, Shape{0, 3, 1, 2}), w[0], {.same = true});
          const Array back = bent(transpose(y, Shape{0, 2, 3, 1}), how);
          return residual ? x + back : back;
        });
        shape_[3] = next;
        return;
      }
      case 3:
        return add("normalize", {{channels}, {channels}}, [](const Array& x, Weights w) {
          const Axes all{0, 1, 2};
          const Array middle = mean(x, all, true), spread = var(x, all, true);
          return (x - middle) * rsqrt(spread + 1e-5f) * w[0] + w[1];
        });
      case 4: {
        if (shape_[1] < 4 || shape_[2] < 4) return;
        const bool largest = pick(2);
        add("pool", {}, [largest](const Array& x, Weights) {
          const Array first = transpose(x, Shape{0, 3, 1, 2});
          const Windows two{.stride = {2, 2}};
          return transpose(largest ? max_pool(first, {2, 2}, two) : avg_pool(first, {2, 2}, two), Shape{0, 2, 3, 1});
        });
        shape_[1] /= 2, shape_[2] /= 2;
        return;
      }
      default: {
        const Shape rows{shape_[0], elements() / shape_[0]};
        shape_ = rows;
        return add("flatten", {}, [rows](const Array& x, Weights) { return reshape(x, rows); });
      }
    }
  }

  Array run(const Arrays& in) const {
    Array x = in[0];
    for (const Layer& layer : layers_) x = layer.f(x, std::span(in).subspan(layer.first, layer.weights));
    return x;
  }

  void transform() {
    const auto f = [this](const Arrays& in) { return run(in); };
    const auto loss = [this](const Arrays& in) { return mean(square(run(in))); };
    const size_t how = pick(7);
    static constexpr const char* kNames[] = {"grad", "train", "train", "hvp", "grad checkpoint", "values", "loss"};
    said = fmt::format("{} of {}{}", kNames[how], said, to_string(inputs_[0]));
    graph = tracing::trace_closed(inputs_, [&](const Arrays& in) -> Arrays {
      switch (how) {
        case 0: return grad(loss)(in);
        case 1:
        case 2: {
          auto [value, g] = value_and_grad(loss)(in);
          for (size_t i = 0; i < g.size(); ++i) g[i] = in[i] - 0.1f * g[i];
          g.push_back(value);
          return g;
        }
        case 3: return jvp(grad(loss), std::tuple(in), std::tuple(in)).tangent;
        case 4: return grad(checkpoint(loss))(in);
        case 5: return {f(in)};
        default: return {loss(in)};
      }
    });
  }

  void hessian_of_dense() {
    const int64_t batch = size(16, 512), width = size(4, 32), n = 2 * width * width;
    said = fmt::format("hessian of two dense {} x {}", batch, width);
    const auto loss = [=](const Array& flat, const Array& x) {
      Array h = x;
      for (int64_t i = 0; i < 2; ++i) {
        const Array w = reshape(flat[{slice(i * width * width, (i + 1) * width * width)}], {width, width});
        h = tanh(matmul(h, w));
      }
      return mean(square(h));
    };
    const std::vector<Aval> avals{{{n}, f32}, {{batch, width}, f32}};
    const bool reverse = pick(2);
    graph = tracing::trace_closed(avals, [=](const Arrays& in) {
      const auto of = [&](const Array& w) { return loss(w, in[1]); };
      return Arrays{reverse ? jacrev(grad(of))(in[0]) : hessian(of)(in[0])};
    });
  }

  /// Linear maps x -> first * x + second, each joined with all before it: both results, or what follows from them.
  void lines() {
    const Aval aval{{size(64, 8192), size(8, 512)}, f32};
    const size_t how = pick(3);
    said = fmt::format("lines {}, {}", to_string(aval), how);
    using Line = std::pair<Array, Array>;
    const auto join = [](const Line& a, const Line& b) {
      return Line{a.first * b.first, b.first * a.second + b.second};
    };
    const auto all = [=](const Arrays& in) { return associative_scan(join, Line{in[0], in[1]}); };
    graph = tracing::trace_closed(std::vector<Aval>(2, aval), [=](const Arrays& in) -> Arrays {
      if (how == 2) return grad([=](const Arrays& x) { return mean(square(all(x).second)); })(in);
      const auto [first, second] = all(in);
      if (how == 1) return {second};
      return {first, second};
    });
  }

  /// Many paths, each a scan over steps that draws its noise.
  void paths() {
    const int64_t paths = size(1000, 200'000), steps = size(8, 256), width = size(1, 8);
    const size_t how = pick(3);
    said = fmt::format("paths {} x {} x {}", paths, steps, width);
    const auto one = [=](const Array& p, const Array& key) {
      const auto step = [&](const std::pair<Array, Array>& c, const Array& day) {
        const Array z = random::normal(random::fold_in(key, day), {width});
        const Array spot = c.first * exp(p[0] * z - 0.5f * square(p[0]) + p[1] * tanh(c.first));
        return std::pair{std::pair{spot, c.second + spot}, nullptr};
      };
      const auto [last, none] = scan(step, std::pair{full({width}, p[2]), zeros({width})}, arange(steps));
      return maximum(mean(last.second) - p[2], 0.0f);
    };
    const auto price = [=](const Array& p, const Array& key) {
      return mean(vmap(one, {.in_axes = {none, 0}})(p, random::split(key, paths)));
    };
    const std::vector<Aval> avals{{{3}, f32}, {{2}, u32}};
    graph = tracing::trace_closed(avals, [=](const Arrays& in) -> Arrays {
      if (how == 0) return {price(in[0], in[1])};
      auto [value, g] = value_and_grad(price)(in[0], in[1]);
      return {value, g};
    });
  }

  Random random_;
  Shape shape_;  // of what the next layer takes
  std::vector<Aval> inputs_;
  std::vector<Layer> layers_;
};

}  // namespace neap::conformance
