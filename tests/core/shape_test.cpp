// Shapes: element counts, strides, text, broadcasting and axes, and what is refused.
#include <neap/error.h>
#include <neap/shape.h>

namespace neap {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{int64_t{1} << 33, 3}), int64_t{3} << 33);
  EXPECT_EQ(element_count(Shape{int64_t{1} << 40, 0, int64_t{1} << 40}), 0);
  EXPECT_THROW(element_count(Shape{int64_t{1} << 40, int64_t{1} << 40}), InternalError);
  EXPECT_THROW(element_count(Shape{2, -1}), InternalError);
}

TEST(Shape, StridesAndText) {
  EXPECT_EQ(row_major_strides(Shape{2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(row_major_strides(Shape{}), Shape{});
  EXPECT_EQ(to_string(Shape{2, 3}), "[2,3]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, Aval) {
  const Aval aval{{2, 3}, f16};
  EXPECT_EQ(to_string(aval), "f16[2,3]");
  EXPECT_EQ(aval.bytes(), 12u);
  EXPECT_EQ(aval, (Aval{{2, 3}, f16}));
  EXPECT_NE(aval, (Aval{{2, 3}, bf16}));
  EXPECT_NE(aval, (Aval{{3, 2}, f16}));
  EXPECT_THROW((void)(Aval{{int64_t{1} << 62}, f32}).bytes(), InternalError);
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast_shapes(Shape{4, 1}, Shape{3}), (Shape{4, 3}));
  EXPECT_EQ(broadcast_shapes(Shape{3}, Shape{4, 1}), (Shape{4, 3}));
  EXPECT_EQ(broadcast_shapes(Shape{}, Shape{2, 2}), (Shape{2, 2}));
  EXPECT_EQ(broadcast_shapes(Shape{1, 0}, Shape{5, 1}), (Shape{5, 0}));
  EXPECT_EQ(broadcast_shapes(Shape{2}, Shape{3}), std::nullopt);
  EXPECT_EQ(broadcast_shapes(Shape{0}, Shape{3}), std::nullopt);
}

TEST(Shape, NormalizesAxes) {
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0);
  EXPECT_THROW(normalize_axis(3, 3, "sum"), IndexError);
  EXPECT_THROW(normalize_axis(-4, 3, "sum"), IndexError);
  EXPECT_THROW(normalize_axis(0, 0, "sum"), IndexError);
  EXPECT_EQ(normalize_axes(std::vector<int64_t>{2, -3}, 3, "transpose"), (std::vector<int64_t>{2, 0}));
  EXPECT_THROW(normalize_axes(std::vector<int64_t>{0, -3}, 3, "transpose"), IndexError);
}

}  // namespace
}  // namespace neap
