// The Jacobians of a three-joint arm's hand at 100,000 poses: vmap of jacfwd, beside jacrev and the matrix written by hand.
#include <neap/neap.h>
#include <cstdio>
namespace nr = neap::random;
using neap::Array;

Array hand(const Array& joints) {  // angles f32 [3] -> position f32 [2]; links of 1, 0.8 and 0.5 m
  Array links = neap::array({1.0f, 0.8f, 0.5f}), absolute = neap::cumsum(joints, 0);
  return neap::stack({neap::sum(links * neap::cos(absolute)), neap::sum(links * neap::sin(absolute))});
}

Array by_hand(const Array& joints) {  // [n, 3] -> [n, 2, 3]: moving joint j turns every link from j on
  Array links = neap::array({1.0f, 0.8f, 0.5f}), absolute = neap::cumsum(joints, -1);
  Array reach = neap::stack({-links * neap::sin(absolute), links * neap::cos(absolute)}, 1);
  return neap::flip(neap::cumsum(neap::flip(reach, -1), -1), -1);
}

int main() {
  Array poses = nr::uniform(nr::key(5), {100000, 3}, neap::f32, -3.0f, 3.0f);
  auto forward = neap::jit(neap::vmap(neap::jacfwd(hand)));
  auto reverse = neap::jit(neap::vmap(neap::jacrev(hand)));
  Array right = by_hand(poses);
  float worst = neap::max(neap::maximum(neap::abs(forward(poses) - right), neap::abs(reverse(poses) - right))).item<float>();
  std::printf("peak %zu bytes: %zu of poses, %zu of Jacobians\n", forward.plan(poses).peak_bytes(), poses.bytes(), right.bytes());
  std::printf("largest difference %.1e\n", worst);
  return worst < 2e-6f ? 0 : 1;
}
