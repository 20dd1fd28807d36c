// custom_jvp for rules of the library's own.
#pragma once

#include <neap/transform_detail.h>

namespace neap::autodiff {

/// Does what custom_jvp_of() does, but does not check that the rule is linear in its tangents: it is known to be. (A
/// loop or branch that computes values beside tangents would not pass.)
std::vector<Array> custom_jvp_unchecked(const detail::LeafFunction& f, const detail::LeafFunction& rule,
                                        const std::vector<Array>& leaves, std::source_location loc);

}  // namespace neap::autodiff
