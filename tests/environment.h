// The environment of tests that depend on it.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace neap {

// A variable of the environment, for as long as this lives. Child processes inherit it.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace neap
