// Data-parallel training of the transformer of examples/transformer.h by hand: Eigen's products, derivatives written
// out, one MPI_Allreduce of all gradients.
#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "bench/limits/ranks/ranks.h"

namespace limits {
namespace {

constexpr int64_t kWidth = 64, kHeads = 4, kLength = 64, kRows = 16, kVocabulary = 128, kLayers = 2, kInner = 256;
constexpr int64_t kEach = kWidth / kHeads;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Map = Eigen::Map<Matrix>;
using Head = Eigen::Map<Matrix, 0, Eigen::OuterStride<kWidth>>;  // a row's positions of one head
using Row = Eigen::RowVectorXf;

// Parameters, or their gradients, one after the other.
class Parameters {
 public:
  explicit Parameters(std::vector<float>& all) : all_(all) {}
  Map take(int64_t rows, int64_t columns) {
    const auto begin = used_;
    used_ += static_cast<size_t>(rows * columns);
    all_.resize(std::max(all_.size(), used_));
    return {all_.data() + begin, rows, columns};
  }

 private:
  std::vector<float>& all_;
  size_t used_ = 0;
};

struct Norm {
  Map scale, shift;
  explicit Norm(Parameters& p) : scale(p.take(1, kWidth)), shift(p.take(1, kWidth)) {}
};

struct Layer {
  Norm before, between;
  Map q, k, v, mix, up, up_bias, down, down_bias;
  explicit Layer(Parameters& p)
      : before(p),
        between(p),
        q(p.take(kWidth, kWidth)),
        k(p.take(kWidth, kWidth)),
        v(p.take(kWidth, kWidth)),
        mix(p.take(kWidth, kWidth)),
        up(p.take(kWidth, kInner)),
        up_bias(p.take(1, kInner)),
        down(p.take(kInner, kWidth)),
        down_bias(p.take(1, kWidth)) {}
};

struct Model {
  Map token, position;
  std::vector<Layer> layers;
  Norm last;
  Map out, out_bias;
  explicit Model(Parameters p)
      : token(p.take(kVocabulary, kWidth)),
        position(p.take(kLength, kWidth)),
        layers(take_layers(p)),
        last(p),
        out(p.take(kWidth, kVocabulary)),
        out_bias(p.take(1, kVocabulary)) {}

 private:
  static std::vector<Layer> take_layers(Parameters& p) {
    std::vector<Layer> all;
    for (int64_t i = 0; i < kLayers; ++i) all.emplace_back(p);
    return all;
  }
};

// What the way back needs of a normalization.
struct Normal {
  Matrix standard;
  Eigen::VectorXf scale;  // 1 / deviation, of each row

  void forward(const Matrix& x, const Norm& norm, Matrix& out) {
    const Eigen::VectorXf mean = x.rowwise().mean();
    standard = x.colwise() - mean;
    scale = (standard.array().square().rowwise().mean() + 1e-5f).rsqrt();
    standard.array().colwise() *= scale.array();
    out = (standard.array().rowwise() * norm.scale.row(0).array()).rowwise() + norm.shift.row(0).array();
  }
  /// Adds to dx what it is by `d`, which changes.
  void backward(Matrix& d, const Norm& norm, Norm& g, Matrix& dx) const {
    g.scale += (d.array() * standard.array()).colwise().sum().matrix();
    g.shift += d.colwise().sum();
    d.array().rowwise() *= norm.scale.row(0).array();
    const Eigen::VectorXf mean = d.rowwise().mean();
    const Eigen::VectorXf along = (d.array() * standard.array()).rowwise().mean();
    dx.array() +=
        ((d.array().colwise() - mean.array()) - standard.array().colwise() * along.array()).colwise() * scale.array();
  }
};

struct Saved {
  Normal before, between;
  Matrix normed, q, k, v, mixed, after, normed2, up, active;
  std::vector<Matrix> weights;  // of each row and head
};

class Training {
 public:
  Training() : positions_(kRows * kLength), corpus_(20000) {
    whole();  // it makes room
    gradients_.assign(all_.size(), 0);
    mean_ = square_ = gradients_;
    std::mt19937 random(5);
    for (int& c : corpus_) c = static_cast<int>(random() % kVocabulary);
    Model model = whole();
    const auto draw = [&](Map m, float scale) {
      std::normal_distribution<float> normal;
      for (float& x : m.reshaped()) x = scale * normal(random);
    };
    const float of_width = 1 / std::sqrt(static_cast<float>(kWidth));
    draw(model.token, 0.1f), draw(model.position, 0.1f), draw(model.out, of_width);
    model.last.scale.setOnes();
    for (Layer& layer : model.layers) {
      layer.before.scale.setOnes(), layer.between.scale.setOnes();
      for (Map* m : {&layer.q, &layer.k, &layer.v, &layer.mix, &layer.up}) draw(*m, of_width);
      draw(layer.down, 1 / std::sqrt(static_cast<float>(kInner)));
    }
  }

  float step(int64_t number) {
    const float loss = compute(number);
    gradients_.push_back(loss);
    MPI_Allreduce(MPI_IN_PLACE, gradients_.data(), static_cast<int>(gradients_.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    const float mean_loss = gradients_.back() / static_cast<float>(ranks());
    gradients_.pop_back();
    update();
    return mean_loss;
  }

  /// Loss of this rank's rows of a step; leaves its gradients.
  float compute(int64_t number);

  std::vector<float>& parameters() { return all_; }
  const std::vector<float>& gradients() const { return gradients_; }

 private:
  Model whole() { return Model(Parameters(all_)); }

  void draw_rows(int64_t number) {
    text_.resize(static_cast<size_t>(kRows));
    std::mt19937 random(static_cast<unsigned>(number));
    for (int64_t row = 0; row < kRows * ranks(); ++row) {
      const auto start = static_cast<int64_t>(random() % (corpus_.size() - kLength));
      const int64_t mine = row - kRows * rank_of();
      if (mine >= 0 && mine < kRows) text_[static_cast<size_t>(mine)] = corpus_.data() + start;
    }
  }

  Head head(Matrix& m, int64_t row, int64_t h) const {
    return {m.data() + row * kLength * kWidth + h * kEach, kLength, kEach, Eigen::OuterStride<kWidth>()};
  }

  void forward(const Layer& layer, Saved& s, Matrix& x);
  void backward(const Layer& layer, Layer& g, Saved& s, Matrix& d);

  void update() {
    const auto step = static_cast<float>(++steps_);
    const float b1 = 0.9f, b2 = 0.999f, rate = 3e-3f, decay = 1e-2f, mine = 1 / static_cast<float>(ranks());
    const float mean_scale = 1 / (1 - std::pow(b1, step)), square_scale = 1 / (1 - std::pow(b2, step));
    const auto n = static_cast<Eigen::Index>(all_.size());
    Eigen::Map<Eigen::ArrayXf> p(all_.data(), n), g(gradients_.data(), n), m(mean_.data(), n), s(square_.data(), n);
    m = b1 * m + (1 - b1) * mine * g;
    s = b2 * s + (1 - b2) * (mine * g).square();
    p -= rate * (m * mean_scale / ((s * square_scale).sqrt() + 1e-8f) + decay * p);
  }

  int64_t positions_, steps_ = 0;
  std::vector<float> all_, gradients_, mean_, square_;
  std::vector<int> corpus_;
  std::vector<const int*> text_;  // of each row: its first character
  std::vector<Saved> saved_ = std::vector<Saved>(kLayers);
  Normal last_;
  Matrix x_, normed_, logits_, d_, dx_, dq_, dk_, dv_, dmixed_, dinner_;
};

void Training::forward(const Layer& layer, Saved& s, Matrix& x) {
  s.before.forward(x, layer.before, s.normed);
  s.q.noalias() = s.normed * layer.q;
  s.k.noalias() = s.normed * layer.k;
  s.v.noalias() = s.normed * layer.v;
  s.mixed.resize(positions_, kWidth);
  s.weights.resize(static_cast<size_t>(kRows * kHeads));
  const float scale = 1 / std::sqrt(static_cast<float>(kEach));
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t h = 0; h < kHeads; ++h) {
      Matrix& w = s.weights[static_cast<size_t>(row * kHeads + h)];
      w.noalias() = head(s.q, row, h) * head(s.k, row, h).transpose();
      for (int64_t t = 0; t < kLength; ++t) {
        auto seen = w.row(t).head(t + 1).array();
        seen = ((seen - seen.maxCoeff()) * scale).exp();
        seen *= 1 / seen.sum();
        w.row(t).tail(kLength - t - 1).setZero();
      }
      head(s.mixed, row, h).noalias() = w * head(s.v, row, h);
    }
  }
  x.noalias() += s.mixed * layer.mix;
  s.between.forward(x, layer.between, s.normed2);
  s.up.noalias() = s.normed2 * layer.up;
  s.up.rowwise() += layer.up_bias.row(0);
  s.active = 0.5f * s.up.array() * (1 + (s.up.array() * std::numbers::sqrt2_v<float> / 2).erf());
  x.noalias() += s.active * layer.down;
  x.rowwise() += layer.down_bias.row(0);
}

// d is what the loss changes by with the layer's result; then with what it reads.
void Training::backward(const Layer& layer, Layer& g, Saved& s, Matrix& d) {
  g.down.noalias() += s.active.transpose() * d;
  g.down_bias += d.colwise().sum();
  dinner_.noalias() = d * layer.down.transpose();
  const auto u = s.up.array();
  dinner_.array() *=
      0.5f * (1 + (u * std::numbers::sqrt2_v<float> / 2).erf()) +
      u * (-0.5f * u.square()).exp() * (std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>);
  g.up.noalias() += s.normed2.transpose() * dinner_;
  g.up_bias += dinner_.colwise().sum();
  dx_.noalias() = dinner_ * layer.up.transpose();
  s.between.backward(dx_, layer.between, g.between, d);
  g.mix.noalias() += s.mixed.transpose() * d;
  dmixed_.noalias() = d * layer.mix.transpose();
  for (Matrix* m : {&dq_, &dk_, &dv_}) m->resize(positions_, kWidth);
  const float scale = 1 / std::sqrt(static_cast<float>(kEach));
  Matrix dw;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t h = 0; h < kHeads; ++h) {
      const Matrix& w = s.weights[static_cast<size_t>(row * kHeads + h)];
      const Head out = head(dmixed_, row, h);
      head(dv_, row, h).noalias() = w.transpose() * out;
      dw.noalias() = out * head(s.v, row, h).transpose();
      const Eigen::VectorXf along = (dw.array() * w.array()).rowwise().sum();
      dw = (scale * w.array() * (dw.array().colwise() - along.array())).matrix();
      head(dq_, row, h).noalias() = dw * head(s.k, row, h);
      head(dk_, row, h).noalias() = dw.transpose() * head(s.q, row, h);
    }
  }
  g.q.noalias() += s.normed.transpose() * dq_;
  g.k.noalias() += s.normed.transpose() * dk_;
  g.v.noalias() += s.normed.transpose() * dv_;
  dx_.noalias() = dq_ * layer.q.transpose();
  dx_.noalias() += dk_ * layer.k.transpose();
  dx_.noalias() += dv_ * layer.v.transpose();
  s.before.backward(dx_, layer.before, g.before, d);
}

float Training::compute(int64_t number) {
  draw_rows(number);
  std::ranges::fill(gradients_, 0.0f);
  const Model model = whole();
  Model g{Parameters(gradients_)};
  x_.resize(positions_, kWidth);
  for (int64_t i = 0; i < positions_; ++i)
    x_.row(i) = model.token.row(text_[static_cast<size_t>(i / kLength)][i % kLength]) + model.position.row(i % kLength);
  for (size_t i = 0; i < kLayers; ++i) forward(model.layers[i], saved_[i], x_);
  last_.forward(x_, model.last, normed_);
  logits_.noalias() = normed_ * model.out;
  logits_.rowwise() += model.out_bias.row(0);
  double loss = 0;
  const float mine = 1 / static_cast<float>(positions_);
  for (int64_t i = 0; i < positions_; ++i) {
    auto row = logits_.row(i).array();
    const int wanted = text_[static_cast<size_t>(i / kLength)][i % kLength + 1];
    const float most = row.maxCoeff(), own = row(wanted);
    row = (row - most).exp();
    const float sum = row.sum();
    loss += std::log(sum) + most - own;
    row *= mine / sum;
    row(wanted) -= mine;
  }
  g.out.noalias() += normed_.transpose() * logits_;
  g.out_bias += logits_.colwise().sum();
  dx_.noalias() = logits_ * model.out.transpose();
  d_.setZero(positions_, kWidth);
  last_.backward(dx_, model.last, g.last, d_);
  for (size_t i = kLayers; i-- > 0;) backward(model.layers[i], g.layers[i], saved_[i], d_);
  for (int64_t i = 0; i < positions_; ++i) {
    g.token.row(text_[static_cast<size_t>(i / kLength)][i % kLength]) += d_.row(i);
    g.position.row(i % kLength) += d_.row(i);
  }
  return static_cast<float>(loss * mine);
}

}  // namespace

void transformer(int64_t steps) {
  Training training;
  // The derivatives are those of the loss: along the gradient it changes by the gradient's square.
  training.compute(0);
  const std::vector<float> along = training.gradients(), before = training.parameters();
  double slope = 0;
  for (const float g : along) slope += static_cast<double>(g) * g;
  const float h = 1e-3f / static_cast<float>(std::sqrt(slope));
  const auto moved = [&](float by) {
    for (size_t i = 0; i < along.size(); ++i) training.parameters()[i] = before[i] + by * along[i];
    return static_cast<double>(training.compute(0));
  };
  const double change = (moved(10 * h) - moved(-10 * h)) / (20 * static_cast<double>(h));
  moved(0);
  float last = 0;
  for (int64_t i = 0; i < steps; ++i) last = training.step(i);
  int64_t number = steps;
  const double seconds = seconds_of([&] { training.step(number++); });
  if (rank_of() == 0)
    fmt::print(
        "a step of training: {} ranks, {:.4g} s\nloss {:.5g} after {} steps; its slope is {:.4g} of the "
        "gradient's\n{:.6g} characters a second\n",
        ranks(), seconds, last, steps, change / slope, static_cast<double>(ranks() * kRows * kLength) / seconds);
}

}  // namespace limits
