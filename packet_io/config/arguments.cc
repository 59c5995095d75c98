#include <algorithm>
#include <set>
#include <sstream>

#include "packet_io/base/nearest.h"
#include "packet_io/config/config_table.h"

namespace tapline {
namespace {

using Actions = std::span<const CommandLineAction>;

std::string FlagName(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const ConfigKey* KeyOfFlag(const ConfigTable& table, const std::string& flag) {
  for (const ConfigKey& key : table.keys()) {
    if (FlagName(key.name) == flag) return &key;
  }
  return nullptr;
}

Status UnknownFlag(const std::string& flag, const ConfigTable& table, Actions actions) {
  std::vector<std::string> known = {"config"};
  for (const ConfigKey& key : table.keys()) known.push_back(FlagName(key.name));
  for (const CommandLineAction& action : actions) known.emplace_back(action.flag);
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

  // REQUIRES: Next() has just returned the flag.
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

Status SetFromFlag(const ConfigKey& key, const Flag& flag) {
  bool is_switch = key.argument.empty();
  std::vector<std::string> values = {is_switch && !flag.has_value ? "true" : flag.value};
  if (key.commas) values = SplitAtCommas(flag.value);
  for (const std::string& value : values) {
    std::string wrong = key.set(value);
    if (!wrong.empty()) return Status::Usage("--" + flag.name + ": " + wrong);
  }
  return {};
}

// First pass: reads the file named by --config, and the action.
Status ReadConfigFile(std::span<const std::string> arguments, Actions actions, const ConfigTable& table,
                      std::string* chosen) {
  FlagReader reader(arguments);
  while (!reader.done()) {
    Flag flag;
    if (Status status = reader.Next(&flag); !status.ok()) return status;
    if (std::any_of(actions.begin(), actions.end(), [&](const auto& action) { return action.flag == flag.name; })) {
      *chosen = flag.name;
      continue;
    }
    const ConfigKey* key = KeyOfFlag(table, flag.name);
    bool is_config = flag.name == "config";
    if (key == nullptr && !is_config) return UnknownFlag(flag.name, table, actions);
    if (key != nullptr && key->argument.empty()) continue;
    if (Status status = reader.TakeValue(&flag, is_config ? "FILE" : key->argument); !status.ok()) return status;
    if (!is_config) continue;
    if (Status status = LoadYaml(flag.value, table); !status.ok()) return status;
  }
  return {};
}

Status ReadSettings(std::span<const std::string> arguments, const ConfigTable& table) {
  FlagReader reader(arguments);
  std::set<const ConfigKey*> cleared;
  while (!reader.done()) {
    Flag flag;
    if (Status status = reader.Next(&flag); !status.ok()) return status;
    const ConfigKey* key = KeyOfFlag(table, flag.name);
    if (key == nullptr || !key->argument.empty()) {
      bool takes_value = key != nullptr || flag.name == "config";
      if (takes_value) {
        if (Status status = reader.TakeValue(&flag, "VALUE"); !status.ok()) return status;
      }
    }
    if (key == nullptr) continue;
    if (cleared.insert(key).second) key->clear();
    if (Status status = SetFromFlag(*key, flag); !status.ok()) return status;
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

Status ParseArguments(std::span<const std::string> arguments, Actions actions, const ConfigTable& table,
                      std::string* action) {
  if (Status status = ReadConfigFile(arguments, actions, table, action); !status.ok()) return status;
  return ReadSettings(arguments, table);
}

std::string HelpOf(const ConfigTable& table, Actions actions) {
  std::string out = "\nSettings:\n";
  AppendFlag("config FILE", "YAML file with any of these settings ('_' for '-'); flags override it", &out);
  for (const ConfigKey& key : table.keys()) {
    auto value = key.get();
    std::string help(key.help);
    if (!key.list && !key.argument.empty() && !value[0].empty()) help += " [" + value[0] + "]";
    AppendFlag(FlagName(key.name) + (key.argument.empty() ? "" : " " + std::string(key.argument)), help, &out);
  }
  out += "\nInstead of running:\n";
  for (const CommandLineAction& action : actions) AppendFlag(std::string(action.flag), action.help, &out);
  return out;
}

}  // namespace tapline
