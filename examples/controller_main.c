/* The same as controller.cpp without Neap: its step was compiled into controller.o. The arena is a static array. */
#include <stdio.h>
#include <string.h>

#include "cart_pole.h"
#include "controller.h"

static _Alignas(CONTROLLER_ARENA_ALIGNMENT) unsigned char arena[CONTROLLER_ARENA_BYTES];

int main(void) {
  float s[4] = {0, 0, 0.4f, 0}, forces[CART_POLE_STEPS] = {0}, better[CART_POLE_STEPS];
  for (int tick = 0; tick < 250; ++tick) {
    controller(forces, s, better, arena);
    memcpy(forces, better, sizeof forces);
    if (tick % 50 == 0)
      printf("%4.1f s  angle %6.3f  position %6.3f  force %6.2f\n", tick * CART_POLE_SECONDS, s[2], s[0], forces[0]);
    cart_pole_moves(s, forces[0]);
  }
  printf("ends at angle %.3f, position %.3f\n", s[2], s[0]);
  return fabsf(s[2]) < 0.02f && fabsf(s[0]) < 0.2f ? 0 : 1;
}
