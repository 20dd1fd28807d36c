/* mixed INPUTS EXPECTED: calls the saved function and compares. On this processor all bits are those of the JIT; on
   another the products are, and what the C library computes may differ in the last bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mixed.h"

enum { SIZE = 24, ALL = SIZE * SIZE };

static float a[ALL], b[ALL], product[ALL], solution[ALL], special[ALL];
static float want_product[ALL], want_solution[ALL], want_special[ALL];
static int32_t order[SIZE], want_order[SIZE];
static _Alignas(MIXED_ARENA_ALIGNMENT) unsigned char arena[MIXED_ARENA_BYTES];

static int get(FILE* file, void* to, size_t count) { return fread(to, 4, count, file) == count; }

static int near(const char* what, const float* got, const float* want, float limit) {
  if (limit == 0 && memcmp(got, want, sizeof product) != 0) {
    printf("%s: other bits\n", what);
    return 0;
  }
  for (int i = 0; i < ALL; ++i) {
    if (fabsf(got[i] - want[i]) <= limit * (1 + fabsf(want[i]))) continue;
    printf("%s[%d]: %.9g, expected %.9g\n", what, i, got[i], want[i]);
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  FILE* const inputs = argc == 3 ? fopen(argv[1], "rb") : NULL;
  FILE* const expected = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (!inputs || !expected || !get(inputs, a, ALL) || !get(inputs, b, ALL) || !get(expected, want_product, ALL) ||
      !get(expected, want_order, SIZE) || !get(expected, want_solution, ALL) || !get(expected, want_special, ALL))
    return 2;
#if defined(__x86_64__)
  const float limit = 0;
#else
  const float limit = 1e-5f;
#endif
  memset(arena, 0xA5, sizeof arena);
  mixed(a, b, product, order, solution, special, arena);
  if (memcmp(order, want_order, sizeof order) != 0) {
    printf("order: another\n");
    return 1;
  }
  return near("product", product, want_product, 0) && near("solution", solution, want_solution, limit) &&
                 near("special", special, want_special, limit)
             ? 0
             : 1;
}
