#include "monitors/plan/parser_call.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "packet_io/base/nearest.h"
#include "parsers/api/argument.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

struct Unit {
  std::string_view name;
  int64_t size;
};

// Durations are in nanoseconds, sizes in bytes.
constexpr std::array<Unit, 5> kDurations = {
    {{"h", 3600 * kNsPerSecond}, {"m", 60 * kNsPerSecond}, {"s", kNsPerSecond}, {"ms", kNsPerMs}, {"us", kNsPerUs}}};
constexpr std::array<Unit, 5> kSizes = {
    {{"tb", 1'000'000'000'000}, {"gb", 1'000'000'000}, {"mb", 1'000'000}, {"kb", 1'000}, {"b", 1}}};
constexpr size_t kMaxDigits = 18;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Converts a name to lower case with underscores, since queries ignore case and treat '-' as '_'.
std::string normal(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Converts a number with one of these units, such as "1.5ms", to a whole number of nanoseconds or bytes. Returns
// nullopt if that is not possible.
std::optional<std::string> in_smallest_unit(std::string_view text, std::span<const Unit> units) {
  const auto end = std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c) && c != '.'; });
  const std::string_view number = text.substr(0, static_cast<size_t>(end - text.begin()));
  const std::string suffix = normal(text.substr(number.size()));
  const auto unit =
      std::find_if(units.begin(), units.end(), [&](const Unit& candidate) { return candidate.name == suffix; });
  if (unit == units.end() || number.size() > kMaxDigits || std::count(number.begin(), number.end(), '.') > 1) {
    return std::nullopt;
  }
  __int128 scaled = 0, divisor = 1;
  bool digits = false;
  bool fraction = false;
  for (const char c : number) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    digits = true;
    scaled = scaled * 10 + (c - '0');
    if (fraction) divisor *= 10;
  }
  scaled *= unit->size;
  if (!digits || scaled % divisor != 0 || scaled / divisor > INT64_MAX) return std::nullopt;
  return std::to_string(static_cast<int64_t>(scaled / divisor));
}

bool is_plain_number(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

std::string expected_duration(const Argument& argument) {
  std::string text = "a duration, " + duration_text(static_cast<int64_t>(argument.min)) + " to " +
                     duration_text(static_cast<int64_t>(argument.max));
  if (argument.step != 1) text += ", in steps of " + duration_text(argument.step);
  return text;
}

// Converts a value to the form that read_argument() accepts. Fails if read_argument() then rejects it.
Status read_value(const Argument& argument, const std::string& written, std::string* value) {
  std::string error;
  if (argument.unit == "ns") {
    const auto ns = in_smallest_unit(written, kDurations);
    if (!ns || !read_argument(argument, *ns, &error)) {
      return Status::invalid("argument '" + argument.name + "' can't be '" + written + "': expected " +
                             expected_duration(argument));
    }
    *value = *ns;
    return {};
  }
  *value = written;
  if (argument.unit == "bytes" && !is_plain_number(written)) {
    if (const auto bytes = in_smallest_unit(written, kSizes)) *value = *bytes;
  }
  if (argument.type == FieldType::kBool) *value = normal(written);
  for (const std::string& choice : argument.choices) {
    if (normal(choice) == normal(written)) *value = choice;
  }
  return read_argument(argument, *value, &error) ? Status() : Status::invalid(error);
}

Status read_argument_text(std::string_view text, ParserCall* call) {
  const size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  const std::string_view value = equals == std::string_view::npos ? "" : trimmed(text.substr(equals + 1));
  if (name.empty() || value.empty()) {
    return Status::invalid("parser '" + call->name + "': '" + std::string(text) +
                           "' is not an argument; write NAME=VALUE");
  }
  call->arguments.emplace_back(name, value);
  return {};
}

}  // namespace

Status read_parser_call(std::string_view text, ParserCall* call) {
  *call = {};
  const size_t open = text.find('(');
  call->name = trimmed(text.substr(0, open));
  if (call->name.empty()) return Status::invalid("'" + std::string(text) + "' does not name a parser");
  if (open == std::string_view::npos) return {};
  std::string_view rest = trimmed(text.substr(open + 1));
  if (rest.empty() || rest.find(')') != rest.size() - 1) {
    return Status::invalid("parser '" + std::string(text) + "' is not NAME or NAME(ARGUMENT=VALUE,…)");
  }
  rest.remove_suffix(1);
  for (size_t begin = 0, end = 0; begin <= rest.size(); begin = end + 1) {
    end = std::min(rest.find(',', begin), rest.size());
    if (Status status = read_argument_text(rest.substr(begin, end - begin), call); !status.ok()) return status;
  }
  return {};
}

Status read_call_arguments(const ParserCall& call, const Schema& schema, std::vector<std::string>* values) {
  values->clear();
  std::vector<std::string> names;
  for (const Argument& argument : schema.arguments) {
    values->push_back(argument.default_value);
    names.push_back(argument.name);
  }
  std::set<size_t> seen;
  for (const auto& [name, written] : call.arguments) {
    const auto it = std::find(names.begin(), names.end(), normal(name));
    const auto index = static_cast<size_t>(it - names.begin());
    std::string problem;
    if (names.empty()) {
      problem = "it has no arguments";
    } else if (it == names.end()) {
      problem = "unknown argument '" + name + "'" + suggest_nearest(name, names) + " (--list-parsers shows all)";
    } else if (!seen.insert(index).second) {
      problem = "argument '" + name + "' is given twice";
    } else if (Status status = read_value(schema.arguments[index], written, &(*values)[index]); !status.ok()) {
      problem = status.message();
    }
    if (!problem.empty()) return Status::invalid("parser '" + schema.name + "': " + problem);
  }
  return {};
}

std::string duration_text(int64_t ns) {
  for (const Unit& unit : kDurations) {
    const bool is_whole = ns % unit.size == 0, large = unit.size > kNsPerSecond;
    if (is_whole && (ns != 0 || !large) && (!large || ns >= 2 * unit.size || ns == unit.size)) {
      return std::to_string(ns / unit.size) + std::string(unit.name);
    }
  }
  return std::to_string(ns) + "ns";
}

}  // namespace tapline
