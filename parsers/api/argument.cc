#include "parsers/api/argument.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tapline {
namespace {

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number number;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string number_text(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string bounds_of(const Argument& argument) {
  const std::string unit = argument.unit.empty() ? "" : " " + argument.unit;
  return number_text(argument.min) + " to " + number_text(argument.max) + unit;
}

std::string choices_of(const Argument& argument) {
  std::string list;
  for (const std::string& choice : argument.choices) list += (list.empty() ? "" : ", ") + choice;
  return list;
}

std::optional<Value> read_value(const Argument& argument, std::string_view text) {
  switch (argument.type) {
    case FieldType::kU64:
      if (const auto number = read_number<uint64_t>(text)) return Value::u64(*number);
      return std::nullopt;
    case FieldType::kI64:
      if (const auto number = read_number<int64_t>(text)) return Value::i64(*number);
      return std::nullopt;
    case FieldType::kF64:
      if (const auto number = read_number<double>(text); number && std::isfinite(*number)) return Value::f64(*number);
      return std::nullopt;
    case FieldType::kBool:
      if (text == "true" || text == "false") return Value::boolean(text == "true");
      return std::nullopt;
    case FieldType::kString: {
      const auto choice = std::find(argument.choices.begin(), argument.choices.end(), text);
      if (choice != argument.choices.end()) return Value::string(*choice);
      return std::nullopt;
    }
    case FieldType::kAddress:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_number(FieldType type) { return type == FieldType::kU64 || type == FieldType::kI64 || type == FieldType::kF64; }

double number_of(const Value& value) {
  switch (value.type()) {
    case FieldType::kU64:
      return static_cast<double>(value.as_u64());
    case FieldType::kI64:
      return static_cast<double>(value.as_i64());
    default:
      return value.as_f64();
  }
}

bool is_multiple(const Argument& argument, const Value& value) {
  if (argument.type == FieldType::kU64) return value.as_u64() % static_cast<uint64_t>(argument.step) == 0;
  return argument.type != FieldType::kI64 || value.as_i64() % argument.step == 0;
}

std::string kind_of(const Argument& argument) {
  if (argument.type == FieldType::kF64) return "a number, ";
  return argument.step == 1 ? "a whole number, " : "a multiple of " + std::to_string(argument.step) + ", ";
}

std::string expected(const Argument& argument) {
  if (is_number(argument.type)) return kind_of(argument) + bounds_of(argument);
  return argument.type == FieldType::kBool ? "true or false" : "one of " + choices_of(argument);
}

}  // namespace

std::optional<Value> read_argument(const Argument& argument, std::string_view text, std::string* error) {
  std::optional<Value> value = read_value(argument, text);
  if (value && is_number(argument.type)) {
    const double number = number_of(*value);
    if (number < argument.min || number > argument.max || !is_multiple(argument, *value)) value.reset();
  }
  if (!value) {
    *error = "argument '" + argument.name + "' can't be '" + std::string(text) + "': expected " + expected(argument);
  }
  return value;
}

std::vector<Value> default_arguments(const Schema& schema) {
  std::vector<Value> values;
  std::string error;
  for (const Argument& argument : schema.arguments) {
    values.push_back(read_argument(argument, argument.default_value, &error).value());
  }
  return values;
}

int64_t interval_ns_of(const Schema& schema, std::span<const std::string> values) {
  for (size_t i = 0; i < std::min(schema.arguments.size(), values.size()); ++i) {
    if (schema.arguments[i].name != schema.interval_argument) continue;
    std::string error;
    return read_argument(schema.arguments[i], values[i], &error).value().as_i64();
  }
  return schema.interval_ns;
}

}  // namespace tapline
