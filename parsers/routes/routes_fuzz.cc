#include <cstdlib>
#include <set>

#include "parsers/engine/engine.h"
#include "parsers/flow_rate/flow_rate.h"
#include "parsers/link_load/link_load.h"
#include "parsers/routes/route_feed.h"
#include "parsers/testing/harness.h"

// Versions of routes and copies of packets, in any order. The input is a sequence of records:
//
//   ┌────────┬──────┬───────┐   kind % 8 = 0: publish a version of the rules and ports so far, valid in value x 64 us
//   │ kind   │ host │ value │   1: add a rule to the next version: of switch kind / 8 % 3, to the host, by port
//   │ 1      │ 1    │ 1     │      value % 16 (several ports above 12), changing if kind >= 128
//   └────────┴──────┴───────┘   2: add a port to the next version: of switch kind / 8 % 3, number host % 16, which
//                                  leads to port value / 16 of switch value % 4 if kind >= 128
//                               otherwise: a copy of a packet to the host, from host / 8, by tap kind / 8 % 4, after
//                                  value x 8 us
//
// Aborts if an inferred port is not the expected one, if an inferred input port is not one at which the source or a
// neighbour is connected, or if a parser names a port that no version had.
namespace tapline::testing {
namespace {

constexpr uint64_t kFirstMac = 0x02'00'00'00'00'00;
constexpr const char* kSwitches[] = {"leaf1", "leaf2", "leaf3", "leaf4"};  // the last one has no routes

struct Version {
  std::vector<RouteRule> rules;
  std::vector<PortRule> ports;
  int64_t since_ns;
};

// Returns the version's rule for an address, or null if there is none.
const RouteRule* rule_of(const Version& version, const std::string& name, uint64_t mac) {
  for (const RouteRule& rule : version.rules) {
    if (rule.switch_name == name && rule.mac == mac) return &rule;
  }
  return nullptr;
}

// Returns the port according to the versions so far, or 0 if it is unknown. It is known from the time of the first
// version in the latest run of versions that agree on it.
uint16_t expected_port(const std::vector<Version>& versions, const std::string& name, uint64_t mac, int64_t time_ns) {
  uint16_t port = 0;
  int64_t since_ns = 0;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    const RouteRule* rule = rule_of(*version, name, mac);
    const bool known = rule != nullptr && !rule->changing && rule->ports.size() == 1;
    if (!known || (port != 0 && rule->ports[0] != port)) break;
    port = rule->ports[0];
    since_ns = version->since_ns;
  }
  return port != 0 && time_ns >= since_ns ? port : 0;
}

class PortSink final : public TupleSink {
 public:
  void watch(const Engine* engine) { engine_ = engine; }
  void add(const std::string& name, uint16_t port) { given_.emplace(name, std::to_string(port)); }
  void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override {
    const std::vector<Field>& fields = engine_->parser(parser).schema().fields;
    if (values.size() != fields.size() || header.queries == 0) std::abort();
    std::string name, port;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!values[i].present()) continue;
      if (fields[i].name == "switch") name = values[i].as_string();
      if (fields[i].name == "port") port = values[i].as_string();
    }
    if (!port.empty() && given_.count({name, port}) == 0) std::abort();
  }
  void lose(LossReason /*reason*/, uint64_t count, uint64_t queries) override {
    if (count == 0 || queries == 0) std::abort();
  }

 private:
  const Engine* engine_ = nullptr;
  std::set<std::pair<std::string, std::string>> given_;
};

class RouteFuzzer {
 public:
  RouteFuzzer() : engine_(parsers(), &sink_, {.max_connections = 8}) { sink_.watch(&engine_); }

  void run(std::span<const uint8_t> input) {
    for (; input.size() >= 3; input = input.subspan(3)) {
      const uint8_t kind = input[0], host = input[1], value = input[2];
      switch (kind % 8) {
        case 0:
          publish(value);
          break;
        case 1:
          add_rule(kind, host, value);
          break;
        case 2:
          add_port(kind, host, value);
          break;
        default:
          copy(static_cast<uint8_t>(kind / 8 % 4), host, value);
      }
    }
    engine_.end();
    if (engine_.stats().live_connections != 0) std::abort();
  }

 private:
  std::vector<std::unique_ptr<Parser>> parsers() {
    std::vector<std::unique_ptr<Parser>> all;
    all.push_back(make_link_load(8));
    all.push_back(make_flow_rate(8));
    std::vector<TapNames> taps;
    for (const char* name : kSwitches) taps.push_back({.switch_name = name});
    for (const auto& parser : all) {
      parser->set_arguments(0, std::vector<Value>{Value::u64(0), Value::u64(0), Value::i64(0), Value::i64(kNsPerMs)});
      parser->set_taps(taps);
      parser->set_routes(&feed_);
    }
    return all;
  }

  static uint64_t mac_of(uint8_t host) { return kFirstMac + host % 8; }

  void add_rule(uint8_t kind, uint8_t host, uint8_t value) {
    RouteRule rule{kSwitches[kind / 8 % 3], mac_of(host), {static_cast<uint16_t>(value % 16)}, kind >= 128};
    if (value % 16 > 12) rule.ports.push_back(1);
    rules_.push_back(rule);
  }

  void add_port(uint8_t kind, uint8_t host, uint8_t value) {
    PortRule port{.switch_name = kSwitches[kind / 8 % 3], .number = static_cast<uint16_t>(host % 16)};
    port.bits_per_second = value;
    if (kind >= 128) {
      port.neighbour = kSwitches[value % 4];
      port.neighbour_port = value / 16;
    }
    ports_.push_back(port);
  }

  void publish(uint8_t value) {
    std::string error;
    const int64_t since_ns = now_ns_ + value * 64 * kNsPerUs;
    auto next = Routes::make(1, {rules_, ports_}, feed_.current(), since_ns, &error);
    if ((next == nullptr) == error.empty()) std::abort();
    if (next == nullptr) {
      versions_.clear();
    } else {
      versions_.push_back({rules_, ports_, since_ns});
      if (next->size() != rules_.size()) std::abort();
      for (const RouteRule& rule : rules_) sink_.add(rule.switch_name, rule.ports[0]);
    }
    rules_.clear();
    ports_.clear();
    feed_.publish(std::move(next));
  }

  void copy(uint8_t tap, uint8_t host, uint8_t value) {
    now_ns_ += value * 8 * kNsPerUs;
    Frame frame = udp_frame({.src = "10.0.0.1",
                             .dst = "10.0.0.2",
                             .src_port = static_cast<uint16_t>(40000 + host / 8 % 16),
                             .dst_port = 9,
                             .payload = "x"},
                            now_ns_);
    for (size_t i = 0; i < 6; ++i) {
      frame.bytes[i] = static_cast<uint8_t>(mac_of(host) >> (40 - 8 * i));
      frame.bytes[6 + i] = static_cast<uint8_t>(mac_of(host / 8) >> (40 - 8 * i));
    }
    frame.tap = tap;
    if (feed_.current() != nullptr) {
      check(tap, mac_of(host));
      check_input(tap, mac_of(host / 8), mac_of(host));
    }
    Packet packet;
    if (decode(frame.raw(), hasher_, &packet) != DecodeOutcome::kOk) std::abort();
    packet.queries = 1;
    engine_.process({&packet, 1});
  }

  void check(uint8_t tap, uint64_t mac) const {
    const uint16_t expected = expected_port(versions_, kSwitches[tap], mac, now_ns_);
    const SwitchRoutes* routes = feed_.current()->of(kSwitches[tap]);
    const uint16_t inferred = routes == nullptr ? uint16_t{0} : routes->port_of(mac, now_ns_).number;
    if (inferred != expected) std::abort();
  }

  void check_input(uint8_t tap, uint64_t source, uint64_t destination) const {
    const SwitchRoutes* routes = feed_.current()->of(kSwitches[tap]);
    const uint16_t input = routes == nullptr ? uint16_t{0} : routes->input_port_of(source, destination, now_ns_).number;
    if (input == 0) return;
    const std::string name = kSwitches[tap];
    bool leads = false;
    for (const PortRule& port : versions_.back().ports) {
      const bool to_source = port.switch_name == name && port.number == input && port.neighbour.empty();
      leads |= to_source && routes->port_of(source, now_ns_).number == input;
      leads |= port.neighbour == name && port.neighbour_port == input;
    }
    if (!leads) std::abort();
  }

  RouteFeed feed_;
  PortSink sink_;
  Engine engine_;
  const FlowHasher hasher_{kTestKey};
  std::vector<RouteRule> rules_;  // rules for the next version
  std::vector<PortRule> ports_;   // ports for the next version
  std::vector<Version> versions_;
  int64_t now_ns_ = 1'000'000'000'000;
};

}  // namespace
}  // namespace tapline::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::RouteFuzzer().run({data, size});
  return 0;
}
