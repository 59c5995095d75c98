#include "monitors/config/config.h"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "monitors/base/nearest.h"

namespace tapline {
namespace {

Status At(const std::string& where, const YAML::Mark& mark, const std::string& message) {
  std::string line = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
  return Status::Usage(where + ": " + line + message);
}

std::string UnknownKey(const std::string& name) {
  std::vector<std::string> known;
  for (const ConfigKey& key : config_keys()) known.emplace_back(key.name);
  return "there is no key '" + name + "'" + SuggestNearest(name, known);
}

Status ReadScalar(const ConfigKey& key, const YAML::Node& node, const std::string& where, MonitorConfig* config) {
  if (!node.IsScalar()) return At(where, node.Mark(), "'" + std::string(key.name) + "' needs one value");
  std::string wrong = key.set(config, node.Scalar());
  return wrong.empty() ? Status() : At(where, node.Mark(), "'" + std::string(key.name) + "': " + wrong);
}

Status ReadKey(const YAML::Node& name, const YAML::Node& value, const std::string& where, MonitorConfig* config) {
  const ConfigKey* key = name.IsScalar() ? FindConfigKey(name.Scalar()) : nullptr;
  if (key == nullptr) return At(where, name.Mark(), UnknownKey(name.IsScalar() ? name.Scalar() : "(not a word)"));
  key->clear(config);
  if (value.IsNull()) return {};
  if (!key->list || !value.IsSequence()) return ReadScalar(*key, value, where, config);
  for (const YAML::Node& entry : value) {
    if (Status status = ReadScalar(*key, entry, where, config); !status.ok()) return status;
  }
  return {};
}

Status ReadMap(const YAML::Node& root, const std::string& where, MonitorConfig* config) {
  if (root.IsNull()) return {};
  if (!root.IsMap()) return At(where, root.Mark(), "expected lines of 'key: value'");
  std::set<std::string> seen;
  for (const auto& entry : root) {
    if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second) {
      return At(where, entry.first.Mark(), "'" + entry.first.Scalar() + "' is set twice");
    }
    if (Status status = ReadKey(entry.first, entry.second, where, config); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status ParseYaml(const std::string& text, const std::string& where, MonitorConfig* config) {
  try {
    return ReadMap(YAML::Load(text), where, config);
  } catch (const YAML::Exception& error) {
    return At(where, error.mark, "is not YAML: " + error.msg);
  }
}

Status LoadYaml(const std::string& path, MonitorConfig* config) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Status::Usage(path + ": can't read the configuration: " + std::strerror(errno));
  return ParseYaml(text.str(), path, config);
}

std::string DumpYaml(const MonitorConfig& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const ConfigKey& key : config_keys()) {
    out << YAML::Key << std::string(key.name) << YAML::Value;
    auto values = key.get(config);
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

Status Validate(const MonitorConfig& config) {
  int inputs = !config.pcap.empty() + !config.interface.empty() + !config.vdev.empty() + !config.port.empty();
  if (inputs == 0) return Status::Usage("no input: name one of --pcap, --interface, --vdev or --port");
  if (inputs > 1)
    return Status::Usage("several inputs: only one of --pcap, --interface, --vdev and --port is possible");
  if (config.parser.empty() && config.plan.empty() && !config.control) {
    return Status::Usage("nothing to do: name a --parser (--list-parsers shows them) or a --plan");
  }
  if (!config.parser.empty() && !config.plan.empty()) {
    return Status::Usage("--parser and --plan exclude each other: a plan names its parsers");
  }
  if (config.control && (!config.parser.empty() || !config.pcap.empty())) {
    return Status::Usage("--control is for plans on a port: not with --parser or --pcap");
  }
  if (config.output == "kafka" && config.brokers.empty()) {
    return Status::Usage("--output kafka needs --brokers HOST:PORT");
  }
  if (config.pcap.empty() && config.speed != "max") {
    return Status::Usage("--speed " + config.speed + " is for capture files; a port has its own speed");
  }
  if (!config.pcap.empty() && config.lanes > 1) return Status::Usage("--lanes is for ports; files are read in order");
  if (!config.workers.empty() && config.lanes > 1) {
    return Status::Usage("--lanes and --workers exclude each other: pipeline mode has one receive queue");
  }
  return {};
}

}  // namespace tapline
