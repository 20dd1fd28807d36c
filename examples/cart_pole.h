// A cart that carries a pole on a hinge, and the plain C of what a real one would do: the controller of controller.cpp
// steers it, in C++ there and in C in controller_main.c. SI units; an angle of 0 is upright.
#ifndef CART_POLE_H
#define CART_POLE_H

#include <math.h>

#define CART_POLE_STEPS 30      /* that the controller looks ahead */
#define CART_POLE_SECONDS 0.04f /* of each */

static const float cart_mass = 1.0f, pole_mass = 0.1f, pole_half = 0.5f, cart_gravity = 9.81f;

/* Moves s = (position, speed, angle, angular speed) by one step of the controller under a force, in newtons. */
static inline void cart_pole_moves(float s[4], float force) {
  const float dt = CART_POLE_SECONDS / 8, all = cart_mass + pole_mass;
  for (int i = 0; i < 8; ++i) {
    const float c = cosf(s[2]), n = sinf(s[2]);
    const float push = (force + pole_mass * pole_half * s[3] * s[3] * n) / all;
    const float turn = (cart_gravity * n - c * push) / (pole_half * (4.0f / 3.0f - pole_mass * c * c / all));
    s[1] += dt * (push - pole_mass * pole_half * turn * c / all);
    s[3] += dt * turn;
    s[0] += dt * s[1];
    s[2] += dt * s[3];
  }
}

#endif
