#include <algorithm>
#include <set>

#include "packet_io/base/nearest.h"
#include "packet_io/config/config_table.h"

namespace tapline {
namespace {

using Actions = std::span<const CommandLineAction>;

std::string flag_name(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const ConfigKey* key_of_flag(const ConfigTable& table, const std::string& flag) {
  for (const ConfigKey& key : table.keys()) {
    if (flag_name(key.name) == flag) return &key;
  }
  return nullptr;
}

Status unknown_flag(const std::string& flag, const ConfigTable& table, Actions actions) {
  std::vector<std::string> known = {"config"};
  for (const ConfigKey& key : table.keys()) known.push_back(flag_name(key.name));
  for (const CommandLineAction& action : actions) known.emplace_back(action.flag);
  const std::string* nearest = find_nearest(flag, known);
  const std::string suggestion = nearest != nullptr ? "; did you mean --" + *nearest + "?" : "";
  return Status::usage("unknown flag --" + flag + suggestion + " (--help shows all)");
}

// The parts of one flag: "--name value", "--name=value" or "--name".
struct Flag {
  std::string name;
  std::string value;
  bool has_value = false;
};

class FlagReader {
 public:
  explicit FlagReader(std::span<const std::string> arguments) : arguments_(arguments) {}

  bool done() const { return at_ == arguments_.size(); }

  Status next(Flag* flag) {
    const std::string& text = arguments_[at_++];
    if (text == "-h") {
      *flag = {"help", "", false};
      return {};
    }
    if (!text.starts_with("--") || text.size() == 2) {
      return Status::usage("'" + text + "' is not a flag; settings are given as --name value, see --help");
    }
    size_t equals = text.find('=');
    flag->name = text.substr(2, equals == std::string::npos ? equals : equals - 2);
    flag->has_value = equals != std::string::npos;
    flag->value = flag->has_value ? text.substr(equals + 1) : "";
    return {};
  }

  // Sets the flag's value to the next argument, unless the flag already has a value. REQUIRES: next() has just returned
  // the flag.
  Status take_value(Flag* flag, std::string_view kind) {
    if (flag->has_value) return {};
    if (done() || arguments_[at_].starts_with("--")) {
      return Status::usage("--" + flag->name + " needs a value: --" + flag->name + " " + std::string(kind));
    }
    flag->value = arguments_[at_++];
    return {};
  }

 private:
  std::span<const std::string> arguments_;
  size_t at_ = 0;
};

// Splits the text at commas, except those within parentheses: "link_load(link=1000000000,every=1ms),flow_rate".
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  bool inside = false;
  for (size_t begin = 0, at = 0; at <= text.size() && begin < text.size(); ++at) {
    if (at == text.size() || (text[at] == ',' && !inside)) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    } else if (text[at] == '(' || text[at] == ')') {
      inside = text[at] == '(';
    }
  }
  return parts;
}

Status set_from_flag(const ConfigKey& key, const Flag& flag) {
  bool is_switch = key.argument.empty();
  std::vector<std::string> values = {is_switch && !flag.has_value ? "true" : flag.value};
  if (key.commas) values = split_at_commas(flag.value);
  for (const std::string& value : values) {
    std::string wrong = key.set(value);
    if (!wrong.empty()) return Status::usage("--" + flag.name + ": " + wrong);
  }
  return {};
}

// Makes a first pass over the arguments: loads the files named by --config, and sets `chosen` to the action given.
Status read_config_file(std::span<const std::string> arguments, Actions actions, const ConfigTable& table,
                        std::string* chosen) {
  FlagReader reader(arguments);
  while (!reader.done()) {
    Flag flag;
    if (Status status = reader.next(&flag); !status.ok()) return status;
    if (std::any_of(actions.begin(), actions.end(), [&](const auto& action) { return action.flag == flag.name; })) {
      *chosen = flag.name;
      continue;
    }
    const ConfigKey* key = key_of_flag(table, flag.name);
    bool is_config = flag.name == "config";
    if (key == nullptr && !is_config) return unknown_flag(flag.name, table, actions);
    if (key != nullptr && key->argument.empty()) continue;
    if (Status status = reader.take_value(&flag, is_config ? "FILE" : key->argument); !status.ok()) return status;
    if (!is_config) continue;
    if (Status status = load_yaml(flag.value, table); !status.ok()) return status;
  }
  return {};
}

Status read_settings(std::span<const std::string> arguments, const ConfigTable& table) {
  FlagReader reader(arguments);
  std::set<const ConfigKey*> cleared;
  while (!reader.done()) {
    Flag flag;
    if (Status status = reader.next(&flag); !status.ok()) return status;
    const ConfigKey* key = key_of_flag(table, flag.name);
    if (key == nullptr || !key->argument.empty()) {
      bool takes_value = key != nullptr || flag.name == "config";
      if (takes_value) {
        if (Status status = reader.take_value(&flag, "VALUE"); !status.ok()) return status;
      }
    }
    if (key == nullptr) continue;
    if (cleared.insert(key).second) key->clear();
    if (Status status = set_from_flag(*key, flag); !status.ok()) return status;
  }
  return {};
}

void append_flag(const std::string& usage, std::string_view help, std::string* out) {
  constexpr size_t kColumn = 34;
  std::string line = "  --" + usage;
  line.resize(std::max(line.size() + 1, kColumn), ' ');
  *out += line + std::string(help) + "\n";
}

}  // namespace

Status parse_arguments(std::span<const std::string> arguments, Actions actions, const ConfigTable& table,
                       std::string* action) {
  if (Status status = read_config_file(arguments, actions, table, action); !status.ok()) return status;
  return read_settings(arguments, table);
}

std::string help_of(const ConfigTable& table, Actions actions) {
  std::string out = "\nSettings:\n";
  append_flag("config FILE", "YAML file with any of these settings ('_' for '-'); flags override it", &out);
  for (const ConfigKey& key : table.keys()) {
    auto value = key.get();
    std::string help(key.help);
    if (!key.list && !key.argument.empty() && !value[0].empty()) help += " [" + value[0] + "]";
    append_flag(flag_name(key.name) + (key.argument.empty() ? "" : " " + std::string(key.argument)), help, &out);
  }
  out += "\nInstead of running:\n";
  for (const CommandLineAction& action : actions) append_flag(std::string(action.flag), action.help, &out);
  return out;
}

}  // namespace tapline
