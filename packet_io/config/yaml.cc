#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "packet_io/base/nearest.h"
#include "packet_io/config/config_table.h"

namespace tapline {
namespace {

Status at(const std::string& where, const YAML::Mark& mark, const std::string& message) {
  std::string line = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
  return Status::usage(where + ": " + line + message);
}

std::string unknown_key(const ConfigTable& table, const std::string& name) {
  std::vector<std::string> known;
  for (const ConfigKey& key : table.keys()) known.emplace_back(key.name);
  return "unknown key '" + name + "'" + suggest_nearest(name, known);
}

Status read_scalar(const ConfigKey& key, const YAML::Node& node, const std::string& where) {
  if (!node.IsScalar()) return at(where, node.Mark(), "'" + std::string(key.name) + "' needs one value");
  std::string wrong = key.set(node.Scalar());
  return wrong.empty() ? Status() : at(where, node.Mark(), "'" + std::string(key.name) + "': " + wrong);
}

Status read_key(const YAML::Node& name, const YAML::Node& value, const std::string& where, const ConfigTable& table) {
  const ConfigKey* key = name.IsScalar() ? table.find(name.Scalar()) : nullptr;
  if (key == nullptr)
    return at(where, name.Mark(), unknown_key(table, name.IsScalar() ? name.Scalar() : "(not a word)"));
  key->clear();
  if (value.IsNull()) return {};
  if (!key->list || !value.IsSequence()) return read_scalar(*key, value, where);
  for (const YAML::Node& entry : value) {
    if (Status status = read_scalar(*key, entry, where); !status.ok()) return status;
  }
  return {};
}

Status read_map(const YAML::Node& root, const std::string& where, const ConfigTable& table) {
  if (root.IsNull()) return {};
  if (!root.IsMap()) return at(where, root.Mark(), "expected lines of 'key: value'");
  std::set<std::string> seen;
  for (const auto& entry : root) {
    if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second) {
      return at(where, entry.first.Mark(), "'" + entry.first.Scalar() + "' is set twice");
    }
    if (Status status = read_key(entry.first, entry.second, where, table); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status parse_yaml(const std::string& text, const std::string& where, const ConfigTable& table) {
  try {
    return read_map(YAML::Load(text), where, table);
  } catch (const YAML::Exception& error) {
    return at(where, error.mark, "is not YAML: " + error.msg);
  }
}

Status load_yaml(const std::string& path, const ConfigTable& table) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Status::usage(path + ": can't read the configuration: " + std::strerror(errno));
  return parse_yaml(text.str(), path, table);
}

std::string dump_yaml(const ConfigTable& table) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const ConfigKey& key : table.keys()) {
    out << YAML::Key << std::string(key.name) << YAML::Value;
    auto values = key.get();
    if (key.list) {
      out << YAML::Flow << values;
    } else if (key.argument.empty() || key.argument == "N") {
      out << values[0];
    } else {
      out << YAML::DoubleQuoted << values[0];
    }
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace tapline
