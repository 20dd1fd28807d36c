// The library that generated shaders draw from.
#pragma once

#include <string_view>

namespace neap::vk {

struct Snippet {
  std::string_view name;
  std::string_view needs;  // other snippets, and extensions (GL_...), separated by blanks
  std::string_view text;
};

/// The loop of fmod32 takes no more turns than this, its end included.
inline constexpr int kFmod32Turns = 254 / 8 + 1 + 1;

/// Returns null when there is no snippet of this name.
const Snippet* find_snippet(std::string_view name);

}  // namespace neap::vk
