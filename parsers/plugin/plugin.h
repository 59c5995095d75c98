// A shared object with parsers (tapline_parser.h), loaded and checked. It stays loaded until the process ends.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parsers/plugin/description.h"

namespace tapline {

class Plugin {
 public:
  // Returns null, and sets *error to the reason, if the file is not a plug-in, is built for another version, or
  // describes its parsers incorrectly. The thread is marked with `index` while code of the shared object runs.
  static std::unique_ptr<Plugin> load(const std::string& path, uint32_t index, std::string* error);

  std::span<const ParserDescription> parsers() const { return parsers_; }
  const std::string& path() const { return path_; }
  uint32_t index() const { return index_; }

 private:
  Plugin(std::string path, uint32_t index) : path_(std::move(path)), index_(index) {}
  bool read(const tapline_plugin* plugin, std::string* error);

  std::string path_;
  uint32_t index_;
  std::vector<ParserDescription> parsers_;
};

}  // namespace tapline
