#include "monitors/plan/route_file.h"

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace tapline {
namespace {

constexpr std::string_view kForm = "expected SWITCH MAC PORT[,PORT...], for example leaf1 02:00:00:00:00:01 3";
constexpr std::string_view kPortForm =
    "expected SWITCH port PORT BITS_PER_SECOND [NEIGHBOUR PORT], for example leaf1 port 4 10000000000 spine1 7";

// Parses the whole text as a number. Returns nullopt if it is not one, or if it is out of range.
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

std::string not_a_port(const std::string& text) { return "'" + text + "' is not a port from 1 to 65535"; }

// The following functions return the reason why a line can't be parsed, or an empty string.

std::string read_route(std::istringstream& words, const std::string& mac, RouteRule* rule) {
  std::string ports, surplus;
  words >> ports;
  if (ports.empty() || words >> surplus) return std::string(kForm);
  const auto address = mac_of(mac);
  if (!address) return "'" + mac + "' is not an Ethernet address; " + std::string(kForm);
  rule->mac = *address;
  for (const std::string& text : parts_of(ports, ',')) {
    const auto port = number_of<uint16_t>(text, 10);
    if (!port || *port == 0) return not_a_port(text);
    rule->ports.push_back(*port);
  }
  return "";
}

std::string read_port(std::istringstream& words, PortRule* rule) {
  std::string port, speed, neighbour_port, surplus;
  words >> port >> speed >> rule->neighbour >> neighbour_port;
  if (speed.empty() || rule->neighbour.empty() != neighbour_port.empty() || words >> surplus) {
    return std::string(kPortForm);
  }
  rule->number = number_of<uint16_t>(port, 10).value_or(0);
  if (rule->number == 0) return not_a_port(port);
  const auto bits_per_second = number_of<uint64_t>(speed, 10);
  if (!bits_per_second) return "'" + speed + "' is not a speed in bits per second";
  rule->bits_per_second = *bits_per_second;
  if (neighbour_port.empty()) return "";
  rule->neighbour_port = number_of<uint16_t>(neighbour_port, 10).value_or(0);
  return rule->neighbour_port == 0 ? not_a_port(neighbour_port) : "";
}

std::string read_line(const std::string& line, RouteTable* table) {
  std::istringstream words(line);
  std::string name, second;
  words >> name >> second;
  if (second == "port") {
    PortRule& port = table->ports.emplace_back();
    port.switch_name = name;
    return read_port(words, &port);
  }
  RouteRule& rule = table->rules.emplace_back();
  rule.switch_name = name;
  return read_route(words, second, &rule);
}

}  // namespace

Result<RouteTable> read_routes(std::string_view text) {
  RouteTable table;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string fault = read_line(line, &table);
    if (!fault.empty()) return Status::invalid("line " + std::to_string(number) + ": " + fault);
  }
  return table;
}

Status load_routes(const std::string& path, RouteFeed* feed) {
  if (path.empty()) return {};
  std::ifstream file(path);
  std::ostringstream text;
  if (!file.is_open() || !(text << file.rdbuf())) {
    return Status::invalid("--routes " + path + " can't be read, or is empty; " + std::string(kForm));
  }
  const auto table = read_routes(text.str());
  if (!table.ok()) return Status::invalid("--routes " + path + ", " + table.status().message());
  std::string error;
  auto routes = Routes::make(0, *table, nullptr, INT64_MIN, &error);
  if (routes == nullptr) return Status::invalid("--routes " + path + ": " + error);
  feed->publish(std::move(routes));
  return {};
}

}  // namespace tapline
