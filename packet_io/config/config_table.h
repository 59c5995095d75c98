// The settings of a program: each a key with a type, bound to a variable, that may come from a YAML file of flat keys
// and from flags of the same names ('-' for '_'), which override it.
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
  // What its flag takes: "FILE", "HOST:PORT"…; empty for one that takes nothing.
  std::string_view argument;
  std::string_view help;
  // Lists collect: a flag may be repeated, YAML may have a sequence, and either may separate by commas if `commas`.
  bool list = false;
  bool commas = false;
  // Sets one value from text. Returns what is wrong with it, or nothing.
  std::function<std::string(const std::string&)> set;
  // Before the first value is set: a list becomes empty, another one what it was by default.
  std::function<void()> clear;
  // The values as text, one unless it is a list.
  std::function<std::vector<std::string>()> get;
};

// The variables must outlive the table. What they hold when they are added is the default.
class ConfigTable {
 public:
  using Check = std::function<std::string(const std::string&)>;  // what is wrong with a text, or nothing

  void AddText(std::string* value, std::string_view name, std::string_view argument, std::string_view help,
               Check check = {});
  void AddList(std::vector<std::string>* value, std::string_view name, std::string_view argument, std::string_view help,
               bool commas);
  void AddNumber(uint32_t* value, uint32_t least, uint32_t most, std::string_view name, std::string_view help);
  void AddSwitch(bool* value, std::string_view name, std::string_view help);
  void AddChoice(std::string* value, std::initializer_list<std::string_view> choices, std::string_view name,
                 std::string_view argument, std::string_view help);

  std::span<const ConfigKey> keys() const { return keys_; }
  const ConfigKey* Find(std::string_view name) const;

 private:
  std::vector<ConfigKey> keys_;
};

// What was asked for besides settings: the name of a flag ("check"), or nothing.
struct CommandLineAction {
  std::string_view flag;
  std::string_view help;
};

// `arguments` without the program's name. --config is read first wherever it stands, so that every flag overrides it; a
// list given as flags replaces the file's. `action` becomes one of `actions`, if given.
Status ParseArguments(std::span<const std::string> arguments, std::span<const CommandLineAction> actions,
                      const ConfigTable& table, std::string* action);
// A line for each setting, with its default, and for each action.
std::string HelpOf(const ConfigTable& table, std::span<const CommandLineAction> actions);

// Overwrites what the YAML names. Unknown and repeated keys and wrong values are errors with the line, `where` first.
Status ParseYaml(const std::string& text, const std::string& where, const ConfigTable& table);
Status LoadYaml(const std::string& path, const ConfigTable& table);
// The effective configuration as YAML, which ParseYaml() reads back as it was.
std::string DumpYaml(const ConfigTable& table);

}  // namespace tapline
