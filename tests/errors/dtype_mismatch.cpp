// expect: shift_left: f32[3]; expected an integer dtype or bool
// expect: bitcast
// A shift of floats.
#include <neap/neap.h>

int main() {
  const neap::Array a = neap::ones({3});
  return static_cast<int>((a << 2).size());
}
