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

Status At(const std::string& where, const YAML::Mark& mark, const std::string& message) {
  std::string line = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
  return Status::Usage(where + ": " + line + message);
}

std::string UnknownKey(const ConfigTable& table, const std::string& name) {
  std::vector<std::string> known;
  for (const ConfigKey& key : table.keys()) known.emplace_back(key.name);
  return "there is no key '" + name + "'" + SuggestNearest(name, known);
}

Status ReadScalar(const ConfigKey& key, const YAML::Node& node, const std::string& where) {
  if (!node.IsScalar()) return At(where, node.Mark(), "'" + std::string(key.name) + "' needs one value");
  std::string wrong = key.set(node.Scalar());
  return wrong.empty() ? Status() : At(where, node.Mark(), "'" + std::string(key.name) + "': " + wrong);
}

Status ReadKey(const YAML::Node& name, const YAML::Node& value, const std::string& where, const ConfigTable& table) {
  const ConfigKey* key = name.IsScalar() ? table.Find(name.Scalar()) : nullptr;
  if (key == nullptr)
    return At(where, name.Mark(), UnknownKey(table, name.IsScalar() ? name.Scalar() : "(not a word)"));
  key->clear();
  if (value.IsNull()) return {};
  if (!key->list || !value.IsSequence()) return ReadScalar(*key, value, where);
  for (const YAML::Node& entry : value) {
    if (Status status = ReadScalar(*key, entry, where); !status.ok()) return status;
  }
  return {};
}

Status ReadMap(const YAML::Node& root, const std::string& where, const ConfigTable& table) {
  if (root.IsNull()) return {};
  if (!root.IsMap()) return At(where, root.Mark(), "expected lines of 'key: value'");
  std::set<std::string> seen;
  for (const auto& entry : root) {
    if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second) {
      return At(where, entry.first.Mark(), "'" + entry.first.Scalar() + "' is set twice");
    }
    if (Status status = ReadKey(entry.first, entry.second, where, table); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status ParseYaml(const std::string& text, const std::string& where, const ConfigTable& table) {
  try {
    return ReadMap(YAML::Load(text), where, table);
  } catch (const YAML::Exception& error) {
    return At(where, error.mark, "is not YAML: " + error.msg);
  }
}

Status LoadYaml(const std::string& path, const ConfigTable& table) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Status::Usage(path + ": can't read the configuration: " + std::strerror(errno));
  return ParseYaml(text.str(), path, table);
}

std::string DumpYaml(const ConfigTable& table) {
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
