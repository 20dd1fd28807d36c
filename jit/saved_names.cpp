#include "jit/saved_names.h"

#include <algorithm>
#include <string_view>

#include "core/ascii.h"

namespace neap::jit_detail {
namespace {

// Of C up to C23 and C++ up to C++20.
constexpr std::string_view kWords[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union",
    "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    // Macros and names of <stdbool.h>, <stddef.h>, <stdint.h>, <cstddef> and <span>, and of compilers.
    "NULL", "offsetof", "size_t", "ptrdiff_t", "max_align_t", "nullptr_t", "linux", "unix", "std"};

// Headers of C, and functions that compilers call on their own.
constexpr std::string_view kTaken[] = {
    "assert", "complex", "ctype",       "errno",  "fenv",      "inttypes", "iso646",  "limits",    "locale", "math",
    "setjmp", "signal",  "stdalign",    "stdarg", "stdatomic", "stdbit",   "stdbool", "stdckdint", "stddef", "stdint",
    "stdio",  "stdlib",  "stdnoreturn", "string", "tgmath",    "threads",  "time",    "uchar",     "unistd", "wchar",
    "wctype", "main",    "memcmp",      "memcpy", "memmove",   "memset",   "saved"};

bool ends_with_type(std::string_view name) {  // int32_t and its kin
  return name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint"));
}

bool is_limit(std::string_view name) {  // INT32_MAX, SIZE_MAX, UINT64_C, ...
  return name.ends_with("_MAX") || name.ends_with("_MIN") || name.ends_with("_C") || name.ends_with("_WIDTH") ||
         name.ends_with("_ARENA_BYTES") || name.ends_with("_ARENA_ALIGNMENT") || name.ends_with("_PEAK_BYTES");
}

}  // namespace

bool is_free_identifier(const std::string& name) {
  const auto good = [](char c) { return ascii::is_alnum(c) || c == '_'; };
  return !name.empty() && !ascii::is_digit(name[0]) && name[0] != '_' && std::ranges::all_of(name, good) &&
         name.find("__") == std::string::npos && !std::ranges::count(kWords, name) && !ends_with_type(name) &&
         !is_limit(name);
}

bool is_taken_function(const std::string& name) {
  return std::ranges::count(kTaken, name) > 0 || name.starts_with("neap_") || name.starts_with("NEAP_");
}

}  // namespace neap::jit_detail
