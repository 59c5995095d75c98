#include "parsers/routes/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace tapline {
namespace {

constexpr uint64_t kHost = 0x02'00'00'00'00'01;

std::unique_ptr<const Routes> made(const std::vector<RouteRule>& rules, const Routes* earlier = nullptr,
                                   int64_t since_ns = INT64_MIN) {
  std::string error;
  auto routes = Routes::make(1, {.rules = rules}, earlier, since_ns, &error);
  EXPECT_EQ(error, "");
  return routes;
}

std::string error_of(const std::vector<RouteRule>& rules, const std::vector<PortRule>& ports = {}) {
  std::string error;
  EXPECT_EQ(Routes::make(1, {rules, ports}, nullptr, 0, &error), nullptr);
  return error;
}

TEST(Routes, ThePortDependsOnTheDestination) {
  const auto routes = made({{"leaf1", kHost, {3}}, {"leaf1", kHost + 1, {4, 5}}, {"leaf2", kHost, {1}}});
  EXPECT_EQ(routes->size(), 3u);
  EXPECT_EQ(routes->of("leaf1")->port_of(kHost, 0).number, 3);
  EXPECT_EQ(routes->of("leaf2")->port_of(kHost, 0).number, 1);
  EXPECT_EQ(routes->of("leaf3"), nullptr);
}

TEST(Routes, AnUnknownPortHasAReason) {
  const auto routes = made({{"leaf1", kHost, {4, 5}}, {"leaf1", kHost + 1, {3}, true}});
  const std::map<uint64_t, LossReason> reasons = {{kHost, LossReason::kRouteAmbiguous},
                                                  {kHost + 1, LossReason::kRouteChanging},
                                                  {kHost + 2, LossReason::kRouteUnknown},
                                                  {0xffffffffffff, LossReason::kRouteUnknown}};
  for (const auto& [mac, reason] : reasons) {
    const InferredPort port = routes->of("leaf1")->port_of(mac, 1'000'000'000);
    EXPECT_EQ(port.number, 0);
    EXPECT_EQ(name_of(port.reason), name_of(reason));
  }
}

TEST(Routes, AChangedRouteIsValidFromItsTime) {
  const auto first = made({{"leaf1", kHost, {3}}, {"leaf1", kHost + 1, {7}}});
  const auto second = made({{"leaf1", kHost, {4}}, {"leaf1", kHost + 1, {7}}}, first.get(), 100);
  EXPECT_EQ(second->of("leaf1")->port_of(kHost, 99).number, 0);
  EXPECT_EQ(second->of("leaf1")->port_of(kHost, 99).reason, LossReason::kRouteChanging);
  EXPECT_EQ(second->of("leaf1")->port_of(kHost, 100).number, 4);
  EXPECT_EQ(second->of("leaf1")->port_of(kHost + 1, 99).number, 7);
  // A later version does not change the time.
  const auto third = made({{"leaf1", kHost, {4}}}, second.get(), 500);
  EXPECT_EQ(third->of("leaf1")->port_of(kHost, 100).number, 4);
  EXPECT_EQ(third->of("leaf1")->port_of(kHost, 99).number, 0);
}

TEST(Routes, ARouteMarkedAsChangingIsValidFromANewTime) {
  const auto first = made({{"leaf1", kHost, {3}}});
  const auto second = made({{"leaf1", kHost, {3}, true}}, first.get(), 50);
  EXPECT_EQ(second->of("leaf1")->port_of(kHost, 1000).number, 0);
  const auto third = made({{"leaf1", kHost, {3}}}, second.get(), 100);
  EXPECT_EQ(third->of("leaf1")->port_of(kHost, 99).number, 0);
  EXPECT_EQ(third->of("leaf1")->port_of(kHost, 100).number, 3);
}

TEST(Routes, InvalidRulesAreErrors) {
  EXPECT_EQ(error_of({{"leaf1", kHost, {3}}, {"leaf1", kHost, {4}}}),
            "switch 'leaf1' has two routes to 02:00:00:00:00:01; give all its ports in one route");
  EXPECT_EQ(error_of({{"", kHost, {3}}}), "a route has no switch");
  EXPECT_EQ(error_of({{"leaf1", kHost, {}}}), "the route to 02:00:00:00:00:01 at switch 'leaf1' has no port");
  EXPECT_EQ(error_of({{"leaf1", kHost, {0}}}),
            "the route to 02:00:00:00:00:01 at switch 'leaf1' has port 0; port numbers start at 1");
  EXPECT_EQ(error_of({{"leaf1", 1ull << 48, {3}}}), "an address of switch 'leaf1' has more than 48 bits");
  EXPECT_EQ(error_of(std::vector<RouteRule>(RoutesBuilder::kMaxRules + 1)),
            "1048577 routes exceed the maximum of 1048576 per monitor; send only those of the monitor's switches");
}

TEST(Routes, InvalidPortsAreErrors) {
  const std::vector<RouteRule> rules = {{"leaf1", kHost, {3}}};
  EXPECT_EQ(error_of(rules, {{"", 3}}), "a port has no switch");
  EXPECT_EQ(error_of(rules, {{"leaf1", 0}}), "switch 'leaf1' has port 0; port numbers start at 1");
  EXPECT_EQ(error_of(rules, {{"leaf1", 3}, {"leaf1", 3}}), "port 3 of switch 'leaf1' is given twice");
  const std::string both = "port 3 of switch 'leaf1' needs the neighbour's name and the neighbour's port, or neither";
  EXPECT_EQ(error_of(rules, {{"leaf1", 3, 0, "spine1", 0}}), both);
  EXPECT_EQ(error_of(rules, {{"leaf1", 3, 0, "", 7}}), both);
  EXPECT_EQ(error_of(rules, std::vector<PortRule>(RoutesBuilder::kMaxPorts + 1)),
            "65537 ports exceed the maximum of 65536 per monitor; send only those of the monitor's switches");
}

// Two leaves under two spines. Packets to hosts 0 and 1 go through spine 1, and packets to host 2 through spine 2.
//
//   spine1 1 ── 3 leaf1 4 ── 1 spine2          leaf1 1: host 0     leaf2 1: host 1
//          2 ── 3 leaf2 4 ── 2                                     leaf2 2: host 2
struct Spines : testing::Test {
  std::vector<RouteRule> rules = {{"leaf1", kHost, {1}},  {"leaf1", kHost + 1, {3}},  {"leaf1", kHost + 2, {4}},
                                  {"leaf2", kHost, {3}},  {"leaf2", kHost + 1, {1}},  {"leaf2", kHost + 2, {2}},
                                  {"spine1", kHost, {1}}, {"spine1", kHost + 1, {2}}, {"spine1", kHost + 2, {2}},
                                  {"spine2", kHost, {1}}, {"spine2", kHost + 1, {2}}, {"spine2", kHost + 2, {2}}};
  std::vector<PortRule> ports = {{"leaf1", 1, 10},
                                 {"leaf1", 3, 40, "spine1", 1},
                                 {"leaf1", 4, 40, "spine2", 1},
                                 {"leaf2", 1, 10},
                                 {"leaf2", 2, 0},
                                 {"leaf2", 3, 40, "spine1", 2},
                                 {"leaf2", 4, 40, "spine2", 2},
                                 {"spine1", 1, 40, "leaf1", 3},
                                 {"spine1", 2, 40, "leaf2", 3},
                                 {"spine2", 1, 40, "leaf1", 4},
                                 {"spine2", 2, 40, "leaf2", 4}};

  InferredPort input(const std::string& name, int source, int destination, const Routes* earlier = nullptr,
                     int64_t since_ns = INT64_MIN) {
    std::string error;
    made_ = Routes::make(1, {rules, ports}, earlier, since_ns, &error);
    EXPECT_EQ(error, "");
    return made_->of(name)->input_port_of(kHost + static_cast<uint64_t>(source),
                                          kHost + static_cast<uint64_t>(destination), 0);
  }
  std::string reason(const std::string& name, int source, int destination) {
    const InferredPort port = input(name, source, destination);
    EXPECT_EQ(port.number, 0);
    return std::string(name_of(port.reason));
  }

  std::unique_ptr<const Routes> made_;
};

TEST_F(Spines, AnInputPortFollowsFromThePath) {
  // At the source's switch.
  EXPECT_EQ(input("leaf1", 0, 1).number, 1);
  EXPECT_EQ(input("leaf2", 2, 1).number, 2);
  // The path follows the routes to the destination, not those to the source: host 0 sends to host 2 through spine 2,
  // and host 2 answers through spine 1.
  EXPECT_EQ(input("leaf2", 0, 2).number, 4);
  EXPECT_EQ(input("leaf1", 2, 0).number, 3);
  EXPECT_EQ(input("spine2", 0, 2).number, 1);
  EXPECT_EQ(input("spine1", 2, 0).number, 2);
}

TEST_F(Spines, AnInputPortOfAnUncertainPathIsUnknown) {
  EXPECT_EQ(reason("spine1", 0, 2), "route_unknown");  // the path does not cross it
  EXPECT_EQ(reason("spine1", 9, 1), "route_unknown");
  EXPECT_EQ(reason("leaf2", 0, 9), "route_unknown");
  rules[1].changing = true;
  EXPECT_EQ(reason("leaf2", 0, 1), "route_changing");
  EXPECT_EQ(input("leaf2", 0, 2).number, 4);
  rules[2].ports = {3, 4};
  EXPECT_EQ(reason("leaf2", 0, 2), "route_ambiguous");
  // A changed route is valid from the time of its version.
  rules[2].ports = {3};
  const auto earlier = made(rules);
  EXPECT_EQ(input("leaf2", 0, 2, earlier.get(), 100).number, 3);
  rules[2].ports = {4};
  EXPECT_EQ(input("leaf2", 0, 2, earlier.get(), 100).number, 0);
}

TEST_F(Spines, WithoutPortsInputPortsAreUnknown) {
  const auto all = ports;
  ports.erase(ports.begin() + 9);  // a port of spine 2
  ports.pop_back();
  EXPECT_EQ(reason("leaf2", 0, 2), "route_unknown");
  EXPECT_EQ(input("leaf1", 1, 0).number, 3);
  ports = {all[0], all[1]};
  EXPECT_EQ(reason("leaf2", 0, 1), "route_unknown");
  ports = all;
  rules.resize(6);  // spines have no routes
  EXPECT_EQ(reason("leaf2", 0, 1), "switch_unknown");
  EXPECT_EQ(input("leaf1", 0, 1).number, 1);
}

TEST_F(Spines, ALoopHasNoInputPort) {
  rules[6].ports = {2};  // spine 1 and leaf 2 send host 0's packets to each other
  EXPECT_EQ(reason("leaf1", 1, 0), "route_unknown");
  EXPECT_EQ(reason("leaf2", 0, 1), "route_unknown");
}

TEST_F(Spines, PortsHaveSpeeds) {
  input("leaf2", 0, 1);
  EXPECT_EQ(made_->of("leaf2")->speeds(), (std::map<uint16_t, uint64_t>{{1, 10}, {3, 40}, {4, 40}}));
  EXPECT_TRUE(made_->of("leaf2")->uses(3));
  EXPECT_FALSE(made_->of("leaf2")->uses(4));
}

// A network whose routes are random trees, simulated packet by packet. Each switch forwards by its own table, which
// changes while packets pass, and sends its copies through a queue that delays them by up to kLongestDelayNs.
class Network {
 public:
  static constexpr int kSwitches = 12, kHosts = 40;
  static constexpr int64_t kLongestDelayNs = 300'000;

  explicit Network(uint32_t seed) : random_(seed) {
    for (int host = 0; host < kHosts; ++host) regrow(host);
    installed_ = wanted_;
  }

  struct Copy {
    int switch_number;
    int host;         // destination
    uint16_t port;    // port by which the switch forwarded it
    int64_t seen_ns;  // capture time of the copy
  };

  // Grows another tree of routes to a host: each switch forwards to a random neighbour that is nearer to the host's
  // switch.
  void regrow(int host) {
    std::vector<int> order(kSwitches);
    for (int i = 0; i < kSwitches; ++i) order[static_cast<size_t>(i)] = i;
    std::swap(order[0], order[static_cast<size_t>(host % kSwitches)]);
    std::shuffle(order.begin() + 1, order.end(), random_);
    for (size_t i = 0; i < order.size(); ++i) {
      // Port n + 1 leads to switch n, and ports above kSwitches to hosts.
      const uint16_t port =
          i == 0 ? static_cast<uint16_t>(kSwitches + 1 + host) : static_cast<uint16_t>(order[below(i)] + 1);
      wanted_[{order[i], host}] = port;
    }
  }

  // Returns the rules of the wanted routes. If `announced` is true, routes that some switch has not installed yet are
  // marked as changing.
  std::vector<RouteRule> rules(bool announced) const {
    std::vector<RouteRule> rules;
    for (const auto& [place, port] : wanted_) {
      const bool changing = announced && installed_.at(place) != port;
      rules.push_back({name(place.first), mac(place.second), {port}, changing});
    }
    return rules;
  }

  // Installs one more wanted route in its switch. Returns false if all are installed.
  bool install_one() {
    std::vector<std::pair<int, int>> places;
    for (const auto& [place, port] : wanted_) {
      if (installed_.at(place) != port) places.push_back(place);
    }
    if (places.empty()) return false;
    const auto& place = places[below(places.size())];
    installed_[place] = wanted_[place];
    return true;
  }

  Copy forward(int64_t now_ns) {
    const auto switch_number = static_cast<int>(below(kSwitches)), host = static_cast<int>(below(kHosts));
    return {switch_number, host, installed_.at({switch_number, host}),
            now_ns + static_cast<int64_t>(below(kLongestDelayNs))};
  }

  static std::string name(int number) { return "s" + std::to_string(number); }
  static uint64_t mac(int host) { return kHost + static_cast<uint64_t>(host); }
  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

 private:
  std::mt19937 random_;
  std::map<std::pair<int, int>, uint16_t> wanted_, installed_;  // by switch and host
};

// While 300 trees change, every inferred port is the one by which the switch forwarded the packet. Few ports are
// unknown: only those of packets to the host whose tree changes.
TEST(Routes, AreNeverWrongWhileTreesChange) {
  constexpr int64_t kStepNs = 2'000;
  for (const uint32_t seed : {1u, 2u, 3u}) {
    Network network(seed);
    auto routes = made(network.rules(false));
    std::multimap<int64_t, Network::Copy> queued;  // by capture time
    int64_t now_ns = 1'000'000'000;
    uint64_t inferred = 0, unknown = 0;
    const auto pass = [&](int packets) {
      for (int i = 0; i < packets; ++i, now_ns += kStepNs) {
        const Network::Copy sent = network.forward(now_ns);
        queued.emplace(sent.seen_ns, sent);
        while (!queued.empty() && queued.begin()->first <= now_ns) {
          const Network::Copy copy = queued.begin()->second;
          queued.erase(queued.begin());
          const InferredPort port =
              routes->of(Network::name(copy.switch_number))->port_of(Network::mac(copy.host), copy.seen_ns);
          if (port.number == 0) {
            ASSERT_EQ(port.reason, LossReason::kRouteChanging);
            ++unknown;
          } else {
            ASSERT_EQ(port.number, copy.port) << "seed " << seed;
            ++inferred;
          }
        }
      }
    };
    for (int change = 0; change < 100; ++change) {
      pass(1000);
      network.regrow(static_cast<int>(network.below(Network::kHosts)));
      routes = made(network.rules(true), routes.get(), now_ns);
      while (network.install_one()) pass(static_cast<int>(network.below(20)));
      routes = made(network.rules(false), routes.get(), now_ns + Network::kLongestDelayNs);
    }
    EXPECT_GT(unknown, 0u);
    EXPECT_LT(static_cast<double>(unknown), 0.01 * static_cast<double>(inferred));
  }
}

}  // namespace
}  // namespace tapline
