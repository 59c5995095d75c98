#include "parsers/plugin/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "parsers/plugin/call_mark.h"

namespace tapline {
namespace {

const std::string kEntry = "tapline_plugin_entry";
constexpr uint32_t kMaxParsers = 16;

const char* last_error() {
  const char* error = dlerror();
  return error != nullptr ? error : "no reason given";
}

}  // namespace

std::unique_ptr<Plugin> Plugin::load(const std::string& path, uint32_t index, std::string* error) {
  std::unique_ptr<Plugin> plugin(new Plugin(path, index));
  std::error_code ignored;
  const auto file = std::filesystem::absolute(path, ignored);
  if (!std::filesystem::is_regular_file(file, ignored)) {
    *error = "there is no such file";
    return nullptr;
  }
  // The mark covers the object's constructors, its entry function, and reads of the memory that the entry returns.
  MarkedCall marked(index);
  void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    *error = std::string("cannot be loaded: ") + last_error();
    return nullptr;
  }
  const auto entry = reinterpret_cast<const tapline_plugin* (*)()>(dlsym(object, kEntry.c_str()));
  if (entry == nullptr) {
    *error = "not a plug-in: it does not export " + kEntry + "()";
    return nullptr;
  }
  return plugin->read(entry(), error) ? std::move(plugin) : nullptr;
}

bool Plugin::read(const tapline_plugin* plugin, std::string* error) {
  if (plugin == nullptr || plugin->abi != TAPLINE_PARSER_ABI) {
    *error = plugin == nullptr ? kEntry + "() returned null"
                               : "it was built for version " + std::to_string(plugin->abi) +
                                     " of tapline_parser.h, but this is version " + std::to_string(TAPLINE_PARSER_ABI);
    return false;
  }
  const bool countable = plugin->struct_bytes >= sizeof(tapline_plugin) && plugin->parsers != nullptr &&
                         plugin->parser_count > 0 && plugin->parser_count <= kMaxParsers;
  if (!countable) {
    *error = "must have 1 to " + std::to_string(kMaxParsers) + " parsers";
    return false;
  }
  for (uint32_t i = 0; i < plugin->parser_count; ++i) {
    auto described = describe(plugin->parsers[i], error);
    if (!described) return false;
    const bool is_duplicate =
        std::any_of(parsers_.begin(), parsers_.end(), [&](const ParserDescription& known_description) {
          return known_description.schema.name == described->schema.name;
        });
    if (is_duplicate) {
      *error = "two of its parsers are named " + described->schema.name;
      return false;
    }
    parsers_.push_back(std::move(*described));
  }
  return true;
}

}  // namespace tapline
