// The cost model is a handful of constants, used to choose and to predict, never to compute.
//
// The unit is one vector instruction's share of one element (an add of f32 is 1). Tested in
// tests/planner/fuse_test.cpp.
#pragma once

#include <array>

#include "trace/graph/graph.h"

namespace neap::planner {

// Fusion chooses by these. Writing, as random bits and scatters in families.cpp, has the speed of one core of the
// design's reference machine, beside which `neap-limits` prints that of this one (bench/limits/README.md). Of the
// others no measurement is recorded.
inline constexpr double kUnitsPerSecond = 48e9;   // of one core
inline constexpr double kWriteUnitsPerByte = 5;   // 9.5 GB/s
inline constexpr double kReadUnitsPerByte = 2.5;  // 20 GB/s
inline constexpr double kLaunchUnits = 1e5;       // 2 microseconds
inline constexpr double kLanes = 16;              // a scalar instruction costs what a vector one does

/// Predicted times count these units instead, at a rate of their own. They are fitted by neap-cost (bench/cost/) on two
/// cores of a Xeon with AVX-512 (Sapphire Rapids, 2 MiB of cache a core); on two of another with as much cache, whose
/// units neap-cost measured, each of its 139 rows took within 1.5 x of its prediction. Two cores of Zen 3 at 3.2 GHz
/// take 1.7 x as long.
namespace predicted {
inline constexpr double kUnitsPerSecond = 85e9;  // of one thread
// Threads, however many a run has: plans are chosen by predicted times, and a program has one plan and one peak.
inline constexpr double kThreads = 2;
// A step costs 18 nanoseconds (loops of small steps: neap-bench --case programs --form hmc, --case ops --form lorenz),
// and where threads share it 1.8 microseconds more: short steps are one thread's.
inline constexpr double kStep = 1.5e3, kFork = 1.5e5;  // units

// What a byte costs where no more than so many bytes were touched since it was (planner/kernels/traffic.h): the caches
// of the threads, the one that they share, memory. In between it follows the logarithm of the bytes.
struct Level {
  double bytes, read, write;
};
inline constexpr double kMiB = 1 << 20;
using Levels = std::array<Level, 4>;
inline constexpr Levels kLevels{{
    {2 * kMiB, 1.3, 1.3},    // 130 GB/s
    {8 * kMiB, 2.9, 2.9},    // 58 GB/s
    {32 * kMiB, 2.9, 2.9},   //
    {128 * kMiB, 7.5, 4.5},  // 23 GB/s read, 38 written; 30 of both
}};
// What the same costs elsewhere. Plans are chosen for the machine of the constants, wherever they run; what another
// takes is measured there (bench/cost/machine.h).
struct Machine {
  double unit = 1;     // of arithmetic, and what else is no traffic
  double split = 1;    // of keys made of one: rotations of bits, which take one instruction or three
  double product = 1;  // of multiplications and additions of products: vectors of 512 bits are whole in one or in two
  Levels levels = kLevels;
};
inline constexpr double kBeside = 0.2;  // of the lesser of arithmetic and traffic, which go on side by side

inline constexpr double kGather = 70;        // of a row, whatever its columns
inline constexpr double kLine = 64;          // bytes that reading one element fetches,
inline constexpr double kFar = 32;           // as long as so many more where no cache of the core has them
inline constexpr double kScatter = 260;      // of an element that a scatter updates,
inline constexpr double kUpdate = 25;        // where it is one of a long row
inline constexpr double kTranspose = 31;     // of an element whose neighbours come from other rows
inline constexpr double kSplitWord = 125;    // of a word of a key of many that are split and stored,
inline constexpr double kFoldedWord = 52;    // or made with a number
inline constexpr double kFold = 8;           // of an element that a reduction reads,
inline constexpr double kFoldMiddle = 30;    // where it reduces neither the first axis nor the last
inline constexpr double kDotMultiply = 1;    // of a product's multiplication and addition,
inline constexpr double kDotPack = 6;        // of an element that it packs, beside reading it,
inline constexpr double kDotResult = 4;      // of an element of the result, beside writing it
inline constexpr double kTile = 25'000;      // of a tile of a convolution
inline constexpr double kSortPass = 340;     // of an element,
inline constexpr double kScattered = 7;      // whose bytes are written to many places, as so many side by side;
inline constexpr double kSelectPass = 90;    // where ranks are found by digits,
inline constexpr double kSelect = 11;        // or the best are held
inline constexpr double kFourierPass = 36;   // of a point that a pass of a Fourier transform computes, of f32
inline constexpr double kFourierLanes = 16;  // in a vector of so many,
inline constexpr double kCumulate = 35;      // of an element of a cumulative op,
inline constexpr double kCumulateRow = 125;  // where its row lies side by side
// Messages between ranks, in seconds: guesses for machines side by side (limits_ranks messages measures them), and what
// it takes to give one to another thread.
inline constexpr double kExchange = 1e-5, kSentByte = 1 / 5e9, kHandOver = 1e-5;
// Moving a run of pages out of an arena, and another in, in seconds: 30 us for 512 KiB, 350 us for 16 MiB (Zen 3, a
// virtual machine).
inline constexpr double kMove = 3e-5, kMovedByte = 2e-11;
inline constexpr double kTrips = 16;  // iterations of a while_loop: a guess, as nothing is known of them
}  // namespace predicted

/// Returns the cost of one element of the node's result, its operands aside; for a reduction or scatter, that of one
/// element which it reduces or adds.
double element_cost(const tracing::Graph& graph, const tracing::Node& node);

/// Tells whether kernels compute the op inside a loop, so that its value need not be stored.
bool is_fusible(tracing::Op op);
/// Tells whether an element of the op's result reads its operands at its own index only.
bool reads_same_index(tracing::Op op);

}  // namespace neap::planner
