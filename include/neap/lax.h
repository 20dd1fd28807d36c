// General forms, with every choice of axes that XLA's operations have, under jax.lax's names: for programs that are
// translated. What one writes by hand is shorter in <neap/ops.h> and <neap/numpy.h>.
#pragma once

#include <neap/numpy.h>

#pragma GCC visibility push(default)  // a shared library shows what is declared here

namespace neap::lax {

/// GatherDims says which axes gather() reads where. Axes of the result are those of the indices but the last, and, at
/// `offset`, those of a window, in order, without the `collapsed` ones and those of the operand's batch.
struct GatherDims {
  Shape offset, collapsed;                     // ascending
  Shape start_map;                             // the operand's axis of each component of an index
  Shape operand_batch = {}, index_batch = {};  // axes that go together; of the operand's batch a window has one element
};
/// Returns windows of x, of these sizes, that start at `index` [..., k]; negative starts do not count from the end.
/// clip: starts are moved so that the window lies within x; fill: a window that does not is NaN (integers: the lowest
/// value; unsigned: the highest). Throws ShapeError where the axes do not fit.
Array gather(const Operand& x, const Operand& index, const GatherDims& dims, const Shape& sizes,
             GatherMode mode = GatherMode::fill);

/// ScatterDims says which axes scatter() and its kin write where: the axes `window` of the updates are those of a
/// window, in order, without the `inserted` ones and those of the operand's batch; the others are those of the indices
/// but the last.
struct ScatterDims {
  Shape window, inserted;
  Shape start_map;
  Shape operand_batch = {}, index_batch = {};
};
/// Returns x with windows that start at `index` [..., k] replaced; where several write an element, the last. Windows
/// that do not lie within x are dropped; clip: moved so that they do. Throws ShapeError where the axes do not fit.
Array scatter(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
              GatherMode mode = GatherMode::fill);
/// Adds the updates.
Array scatter_add(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode = GatherMode::fill);
/// Multiplies by the updates.
Array scatter_mul(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode = GatherMode::fill);
/// Takes the smaller of both.
Array scatter_min(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode = GatherMode::fill);
/// Takes the larger of both.
Array scatter_max(const Operand& x, const Operand& index, const Operand& updates, const ScatterDims& dims,
                  GatherMode mode = GatherMode::fill);

/// ConvDims names the axes of a convolution: of x the batch, the features, then space; of w the features of the result,
/// those that are added up, then space; of the result the batch, the features, then space. Empty: in this order.
struct ConvDims {
  Shape lhs = {}, rhs = {}, out = {};
};
/// Returns conv_general(x, w, windows) with axes in any order and of any number, none too; the batch may be in groups
/// (windows.groups is then 1): features of the result are of one group each. Throws ShapeError where the axes do not
/// fit.
Array conv_general_dilated(const Operand& x, const Operand& w, const Windows& windows = {}, const ConvDims& dims = {},
                           int64_t batch_groups = 1);

}  // namespace neap::lax

#pragma GCC visibility pop
