#include "monitors/plan/route_file.h"

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace tapline {
namespace {

constexpr std::string_view kForm = "expected SWITCH MAC PORT[,PORT...], for example leaf1 02:00:00:00:00:01 3";

// Reads a whole word as a number. `text` may not be empty.
template <typename Number>
std::optional<Number> number_of(std::string_view text, int base) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, separator);) parts.push_back(part);
  return parts;
}

std::optional<uint64_t> mac_of(const std::string& text) {
  const std::vector<std::string> bytes = parts_of(text, ':');
  if (bytes.size() != 6) return std::nullopt;
  uint64_t mac = 0;
  for (const std::string& byte : bytes) {
    const auto value = number_of<uint8_t>(byte, 16);
    if (!value || byte.size() != 2) return std::nullopt;
    mac = mac << 8 | *value;
  }
  return mac;
}

// Returns the reason why the line is not understood; empty if it is.
std::string read_line(const std::string& line, RouteRule* rule) {
  std::istringstream words(line);
  std::string mac, ports, surplus;
  words >> rule->switch_name >> mac >> ports;
  if (ports.empty() || words >> surplus) return std::string(kForm);
  const auto address = mac_of(mac);
  if (!address) return "'" + mac + "' is not an Ethernet address; " + std::string(kForm);
  rule->mac = *address;
  for (const std::string& text : parts_of(ports, ',')) {
    const auto port = number_of<uint16_t>(text, 10);
    if (!port || *port == 0) return "'" + text + "' is not a port from 1 to 65535";
    rule->ports.push_back(*port);
  }
  return "";
}

}  // namespace

Result<std::vector<RouteRule>> read_routes(std::string_view text) {
  std::vector<RouteRule> rules;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string fault = read_line(line, &rules.emplace_back());
    if (!fault.empty()) return Status::invalid("line " + std::to_string(number) + ": " + fault);
  }
  return rules;
}

Status load_routes(const std::string& path, RouteFeed* feed) {
  if (path.empty()) return {};
  std::ifstream file(path);
  std::ostringstream text;
  if (!file.is_open() || !(text << file.rdbuf())) {
    return Status::invalid("--routes " + path + " can't be read, or is empty; " + std::string(kForm));
  }
  const auto rules = read_routes(text.str());
  if (!rules.ok()) return Status::invalid("--routes " + path + ", " + rules.status().message());
  std::string error;
  auto routes = Routes::make(0, *rules, nullptr, INT64_MIN, &error);
  if (routes == nullptr) return Status::invalid("--routes " + path + ": " + error);
  feed->publish(std::move(routes));
  return {};
}

}  // namespace tapline
