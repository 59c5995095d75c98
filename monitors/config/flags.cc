#include "monitors/config/flags.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "monitors/base/nearest.h"

namespace tapline {
namespace {

using Action = CommandLine::Action;

constexpr std::array<std::pair<std::string_view, Action>, 5> kActions = {{{"check", Action::kCheck},
                                                                          {"dump", Action::kDump},
                                                                          {"help", Action::kHelp},
                                                                          {"version", Action::kVersion},
                                                                          {"list-parsers", Action::kListParsers}}};

std::string FlagName(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const ConfigKey* KeyOfFlag(const std::string& flag) {
  for (const ConfigKey& key : config_keys()) {
    if (FlagName(key.name) == flag) return &key;
  }
  return nullptr;
}

Status UnknownFlag(const std::string& flag) {
  std::vector<std::string> known = {"config"};
  for (const ConfigKey& key : config_keys()) known.push_back(FlagName(key.name));
  for (const auto& [name, action] : kActions) known.emplace_back(name);
  return Status::Usage("there is no flag --" + flag + SuggestNearest(flag, known) + "; --help shows all");
}

// One flag taken apart: "--name value", "--name=value" or "--name".
struct Flag {
  std::string name;
  std::string value;
  bool has_value = false;
};

class FlagReader {
 public:
  explicit FlagReader(std::span<const std::string> arguments) : arguments_(arguments) {}

  bool done() const { return at_ == arguments_.size(); }

  Status Next(Flag* flag) {
    const std::string& text = arguments_[at_++];
    if (text == "-h") {
      *flag = {"help", "", false};
      return {};
    }
    if (!text.starts_with("--") || text.size() == 2) {
      return Status::Usage("'" + text + "' is not a flag; settings are given as --name value, see --help");
    }
    size_t equals = text.find('=');
    flag->name = text.substr(2, equals == std::string::npos ? equals : equals - 2);
    flag->has_value = equals != std::string::npos;
    flag->value = flag->has_value ? text.substr(equals + 1) : "";
    return {};
  }

  // REQUIRES: Next() gave the flag just now.
  Status TakeValue(Flag* flag, std::string_view what) {
    if (flag->has_value) return {};
    if (done() || arguments_[at_].starts_with("--")) {
      return Status::Usage("--" + flag->name + " needs a value: --" + flag->name + " " + std::string(what));
    }
    flag->value = arguments_[at_++];
    return {};
  }

 private:
  std::span<const std::string> arguments_;
  size_t at_ = 0;
};

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Status SetFromFlag(const ConfigKey& key, const Flag& flag, MonitorConfig* config) {
  bool is_switch = key.argument.empty();
  std::vector<std::string> values = {is_switch && !flag.has_value ? "true" : flag.value};
  if (key.commas) values = SplitAtCommas(flag.value);
  for (const std::string& value : values) {
    std::string wrong = key.set(config, value);
    if (!wrong.empty()) return Status::Usage("--" + flag.name + ": " + wrong);
  }
  return {};
}

// First pass: the file named by --config, and what to do.
Status ReadConfigFile(std::span<const std::string> arguments, CommandLine* out) {
  FlagReader reader(arguments);
  while (!reader.done()) {
    Flag flag;
    if (Status status = reader.Next(&flag); !status.ok()) return status;
    auto action = std::find_if(kActions.begin(), kActions.end(), [&](const auto& a) { return a.first == flag.name; });
    if (action != kActions.end()) {
      out->action = action->second;
      continue;
    }
    const ConfigKey* key = KeyOfFlag(flag.name);
    bool is_config = flag.name == "config";
    if (key == nullptr && !is_config) return UnknownFlag(flag.name);
    if (key != nullptr && key->argument.empty()) continue;
    if (Status status = reader.TakeValue(&flag, is_config ? "FILE" : key->argument); !status.ok()) return status;
    if (!is_config) continue;
    if (Status status = LoadYaml(flag.value, &out->config); !status.ok()) return status;
  }
  return {};
}

Status ReadSettings(std::span<const std::string> arguments, MonitorConfig* config) {
  FlagReader reader(arguments);
  std::set<const ConfigKey*> cleared;
  while (!reader.done()) {
    Flag flag;
    if (Status status = reader.Next(&flag); !status.ok()) return status;
    const ConfigKey* key = KeyOfFlag(flag.name);
    if (key == nullptr || !key->argument.empty()) {
      bool takes_value = key != nullptr || flag.name == "config";
      if (takes_value) {
        if (Status status = reader.TakeValue(&flag, "VALUE"); !status.ok()) return status;
      }
    }
    if (key == nullptr) continue;
    if (cleared.insert(key).second) key->clear(config);
    if (Status status = SetFromFlag(*key, flag, config); !status.ok()) return status;
  }
  return {};
}

void AppendFlag(const std::string& usage, std::string_view help, std::string* out) {
  constexpr size_t kColumn = 34;
  std::string line = "  --" + usage;
  line.resize(std::max(line.size() + 1, kColumn), ' ');
  *out += line + std::string(help) + "\n";
}

}  // namespace

Status ParseCommandLine(std::span<const std::string> arguments, CommandLine* command_line) {
  if (Status status = ReadConfigFile(arguments, command_line); !status.ok()) return status;
  return ReadSettings(arguments, &command_line->config);
}

std::string HelpText() {
  std::string out =
      "Usage: tapline-monitor (--pcap FILE… | --interface IF | --vdev DEV | --port PCI) (--parser NAME… | --plan "
      "FILE… | --control)\n"
      "\nTurns packets into tuples: JSON lines on standard output, or batches in Kafka.\n\nSettings:\n";
  MonitorConfig defaults;
  AppendFlag("config FILE", "YAML file with any of these settings ('_' for '-'); flags override it", &out);
  for (const ConfigKey& key : config_keys()) {
    auto value = key.get(defaults);
    std::string help(key.help);
    if (!key.list && !key.argument.empty() && !value[0].empty()) help += " [" + value[0] + "]";
    AppendFlag(FlagName(key.name) + (key.argument.empty() ? "" : " " + std::string(key.argument)), help, &out);
  }
  out += "\nInstead of running:\n";
  AppendFlag("list-parsers", "the catalogue of parsers and their fields, as JSON", &out);
  AppendFlag("check", "say whether the settings are right, and exit", &out);
  AppendFlag("dump", "print the effective settings as YAML, and exit", &out);
  AppendFlag("version", "", &out);
  AppendFlag("help", "", &out);
  return out +
         "\nSIGTERM and SIGINT end it cleanly; a second one at once. Exit codes: 0 done, 1 failed, 2 wrong usage.\n";
}

}  // namespace tapline
