#include "monitors/plugins.h"

#include <sstream>

#include "parsers/plugin/plugin.h"
#include "parsers/plugin/plugin_parser.h"
#include "parsers/plugin/schema_text.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

Status add_parser(const std::string& path, const std::string& name, std::function<std::unique_ptr<Parser>()> make) {
  if (add_parser(name, std::move(make))) return {};
  return Status::invalid("plug-in " + path + ": the name of its parser '" + name + "' is already used");
}

Status load(const std::string& path, uint32_t index, PluginPage* page) {
  std::string error;
  auto plugin = Plugin::load(path, index, &error);
  if (plugin == nullptr) return Status::invalid("plug-in " + path + ": " + error);
  std::string schemas;
  for (const ParserDescription& parser : plugin->parsers()) {
    Status added = add_parser(path, parser.schema.name, [parser, index] { return make_plugin_parser(parser, index); });
    if (!added.ok()) return added;
    schemas += schema_to_text(parser.schema) + "\n";
  }
  if (page != nullptr) page->set_schemas(schemas);
  return {};
}

Status stand_in(const std::string& path, const PluginPage& page) {
  if (page.schema_bytes == 0) {
    return Status::invalid("plug-in " + path + " can't be loaded: it failed twice while loading; run without it");
  }
  std::istringstream lines{std::string(page.schema_text())};
  for (std::string line; std::getline(lines, line);) {
    auto schema = schema_of_text(line);
    if (!schema) return Status::internal("the description of plug-in " + path + " can't be read");
    Status added = add_parser(path, schema->name, [schema] { return left_out_parser(*schema); });
    if (!added.ok()) return added;
  }
  return {};
}

}  // namespace

Status load_plugins(std::span<const std::string> paths, MonitorPage* page) {
  if (paths.size() > kMaxPlugins) return Status::usage("more than 16 plug-ins");
  for (uint32_t i = 0; i < paths.size(); ++i) {
    PluginPage* plugin = page == nullptr ? nullptr : &page->plugins[i];
    bool left_out = plugin != nullptr && plugin->left_out;
    Status status = left_out ? stand_in(paths[i], *plugin) : load(paths[i], i, plugin);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace tapline
