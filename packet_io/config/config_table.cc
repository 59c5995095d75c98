#include "packet_io/config/config_table.h"

#include <charconv>

namespace tapline {
namespace {

std::string set_number(const std::string& text, uint32_t min, uint32_t max, uint32_t* out) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= min && number <= max) {
    *out = number;
    return "";
  }
  return "'" + text + "' is not a number from " + std::to_string(min) + " to " + std::to_string(max);
}

std::string check_choice(const std::string& text, const std::vector<std::string_view>& choices) {
  std::string expected;
  for (std::string_view choice : choices) {
    if (text == choice) return "";
    expected += (expected.empty() ? "" : ", ") + std::string(choice);
  }
  return "'" + text + "' is none of " + expected;
}

template <typename T>
std::function<void()> to_default(T* value) {
  return [value, initial = *value] { *value = initial; };
}

}  // namespace

void ConfigTable::add_text(std::string* value, std::string_view name, std::string_view argument, std::string_view help,
                           Check check) {
  auto set = [value, check = std::move(check)](const std::string& text) {
    std::string wrong = check ? check(text) : "";
    if (wrong.empty()) *value = text;
    return wrong;
  };
  auto get = [value] { return std::vector<std::string>{*value}; };
  keys_.push_back({name, argument, help, false, false, std::move(set), to_default(value), get});
}

void ConfigTable::add_list(std::vector<std::string>* value, std::string_view name, std::string_view argument,
                           std::string_view help, bool commas, Check check) {
  auto set = [value, check = std::move(check)](const std::string& text) {
    std::string wrong = text.empty() ? "an empty name" : check ? check(text) : "";
    if (wrong.empty()) value->push_back(text);
    return wrong;
  };
  keys_.push_back(
      {name, argument, help, true, commas, std::move(set), [value] { value->clear(); }, [value] { return *value; }});
}

void ConfigTable::add_number(uint32_t* value, uint32_t min, uint32_t max, std::string_view name,
                             std::string_view help) {
  auto set = [=](const std::string& text) { return set_number(text, min, max, value); };
  auto get = [value] { return std::vector<std::string>{std::to_string(*value)}; };
  keys_.push_back({name, "N", help, false, false, set, to_default(value), get});
}

void ConfigTable::add_switch(bool* value, std::string_view name, std::string_view help) {
  auto set = [value](const std::string& text) {
    if (text != "true" && text != "false") return "'" + text + "' is neither true nor false";
    *value = text == "true";
    return std::string();
  };
  auto get = [value] { return std::vector<std::string>{*value ? "true" : "false"}; };
  keys_.push_back({name, "", help, false, false, set, to_default(value), get});
}

void ConfigTable::add_choice(std::string* value, std::initializer_list<std::string_view> choices, std::string_view name,
                             std::string_view argument, std::string_view help) {
  const std::vector<std::string_view> all(choices);
  add_text(value, name, argument, help, [all](const std::string& text) { return check_choice(text, all); });
}

const ConfigKey* ConfigTable::find(std::string_view name) const {
  for (const ConfigKey& key : keys_) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

}  // namespace tapline
