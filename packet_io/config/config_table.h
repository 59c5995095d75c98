// A program's settings. Each is a key with a type, bound to a variable. Its value comes from a YAML file of flat keys,
// or from a flag of the same name ('-' for '_'), which overrides the file.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// One setting. Its flag is "--" + name with '-' for '_'.
struct ConfigKey {
  std::string_view name;
  // The flag's argument: "FILE", "HOST:PORT"…; empty if it takes none.
  std::string_view argument;
  std::string_view help;
  // True for a list of values: its flag may be repeated, and YAML may have a sequence. If `commas` is true, commas also
  // separate values of the flag (not in YAML), except within parentheses.
  bool list = false;
  bool commas = false;
  // Sets the value from text, or adds one to a list. Returns an error message, or an empty string.
  std::function<std::string(const std::string&)> set;
  // Empties a list, or resets any other key to its default. Called before the first value from YAML or flags is set.
  std::function<void()> clear;
  // Returns the values as text: exactly one, unless the key is a list.
  std::function<std::vector<std::string>()> get;
};

// The variables must outlive the table. The values that they have when they are added are the defaults.
class ConfigTable {
 public:
  using Check = std::function<std::string(const std::string&)>;  // returns an error message, or an empty string

  void add_text(std::string* value, std::string_view name, std::string_view argument, std::string_view help,
                Check check = {});
  void add_list(std::vector<std::string>* value, std::string_view name, std::string_view argument,
                std::string_view help, bool commas, Check check = {});
  void add_number(uint32_t* value, uint32_t min, uint32_t max, std::string_view name, std::string_view help);
  void add_switch(bool* value, std::string_view name, std::string_view help);
  void add_choice(std::string* value, std::initializer_list<std::string_view> choices, std::string_view name,
                  std::string_view argument, std::string_view help);

  std::span<const ConfigKey> keys() const { return keys_; }
  const ConfigKey* find(std::string_view name) const;

 private:
  std::vector<ConfigKey> keys_;
};

// An action that a flag requests ("check"), as opposed to a setting.
struct CommandLineAction {
  std::string_view flag;
  std::string_view help;
};

// Parses the arguments, without the program's name. --config is read first, regardless of its position, so every flag
// overrides it. A list given by flags replaces the file's list. Sets `action` to the one of `actions` that is given, if
// any.
Status parse_arguments(std::span<const std::string> arguments, std::span<const CommandLineAction> actions,
                       const ConfigTable& table, std::string* action);
// Returns a line for each setting, with its default, and for each action.
std::string help_of(const ConfigTable& table, std::span<const CommandLineAction> actions);

// Sets the keys that the YAML contains. Unknown or repeated keys and invalid values are errors, which name `where` and
// the line.
Status parse_yaml(const std::string& text, const std::string& where, const ConfigTable& table);
Status load_yaml(const std::string& path, const ConfigTable& table);
// Returns the effective configuration as YAML, which parse_yaml() reads back unchanged.
std::string dump_yaml(const ConfigTable& table);

}  // namespace tapline
