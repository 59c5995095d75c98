// Measures the CPU time per packet seen at both taps of a queue, as the minimum of a few runs, and compares it with a
// pass that only reads the same views.
//
//   queues_bench              2,000,000 packets of 1,000, 100,000 and 1,000,000 flows
//   queues_bench --only ROW   only `pass` and this row, for profiles
//   queues_bench --check      fewer packets of 1,000 flows; fails if the exact contents cost more than five times as
//                             much as the sketch in the same run, or if, with matching, they cost more than ten times
//                             as much
//
//   pass       reads each view
//   triples    reads each triple: flow, arrival, departure, and bytes
//   contents   QueueContents from triples, without bursts
//   flows      the same, summed by flow in intervals of 1 ms, as queue_flows does
//   bursts     contents with busy periods and their culprits
//   match      TapMatcher from views
//   both       matching, then contents
//   hops       HopSequencer from hops captured up to 1 ms after they left and out of order, then contents
//   sketch     Snapshots, h=4, R=2, C=2048, written and read
//
// Packets of 700 bytes leave a 10 Gb/s queue of about 1,000 packets; their flows are random.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "parsers/queues/flow_intervals.h"
#include "parsers/queues/hop_sequencer.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/snapshots.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {
namespace {

constexpr size_t kPackets = 2'000'000, kFewPackets = 300'000;
constexpr int kRuns = 9;
constexpr int64_t kServiceNs = 560, kWaitNs = 1000 * kServiceNs;
constexpr std::string_view kRows[] = {"triples", "contents", "flows", "bursts", "match", "both", "hops", "sketch"};
constexpr HashKey kKey = {1, 2};

uint64_t looked_at = 0;

struct Triple {
  uint64_t flow_key;
  int64_t arrival_ns, departure_ns;
  uint32_t bytes;

  Passage passage() const { return Passage::certain(flow_key, arrival_ns, departure_ns, bytes); }
};

struct Event {
  View view;
  bool departure;
};

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::vector<Triple> triples_of(uint32_t flows, size_t packets) {
  std::mt19937_64 random(flows);
  std::vector<Triple> triples;
  for (size_t i = 0; i < packets; ++i) {
    const auto arrival_ns = static_cast<int64_t>(i) * kServiceNs + static_cast<int64_t>(random() % kServiceNs);
    triples.push_back({mixed(random() % flows + 1), arrival_ns, static_cast<int64_t>(i) * kServiceNs + kWaitNs, 700});
  }
  return triples;
}

std::vector<Event> views_of(const std::vector<Triple>& triples) {
  std::vector<Event> events;
  size_t left = 0;
  const auto show = [&](size_t i, int64_t time_ns, bool is_departure) {
    events.push_back({{mixed(i + (uint64_t{1} << 40)), triples[i].flow_key, time_ns, 700, true}, is_departure});
  };
  for (size_t i = 0; i < triples.size(); ++i) {
    for (; triples[left].departure_ns < triples[i].arrival_ns; ++left) show(left, triples[left].departure_ns, true);
    show(i, triples[i].arrival_ns, false);
  }
  for (; left < triples.size(); ++left) show(left, triples[left].departure_ns, true);
  return events;
}

struct ReportedHop {
  View view;
  int64_t arrival_ns, captured_ns;
};

// Returns the hops in capture order.
std::vector<ReportedHop> hops_of(const std::vector<Triple>& triples) {
  std::mt19937_64 random(1);
  std::vector<ReportedHop> hops;
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& triple = triples[i];
    hops.push_back({{mixed(i + 1), triple.flow_key, triple.departure_ns, 700, true},
                    triple.arrival_ns,
                    triple.departure_ns + static_cast<int64_t>(random() % 1'000'000)});
  }
  std::sort(hops.begin(), hops.end(), [](const auto& a, const auto& b) { return a.captured_ns < b.captured_ns; });
  return hops;
}

// Returns the CPU time of this thread.
double cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ns_per_packet(size_t packets, const std::function<void()>& run) {
  double min = 1e18;
  for (int i = 0; i < kRuns; ++i) {
    const double start_ns = cpu_ns();
    run();
    min = std::min(min, (cpu_ns() - start_ns) / static_cast<double>(packets));
  }
  return min;
}

class CountingSink final : public MatchSink {
 public:
  void pass(const Passage& passage) override { looked_at += static_cast<uint64_t>(passage.arrival_ns); }
  void never_left(const View&) override {}
};
class Contents final : public MatchSink {
 public:
  explicit Contents(const ContentsOptions& options) : contents(options, nullptr) {}
  void pass(const Passage& passage) override { looked_at += contents.add(passage).own_bytes; }
  void never_left(const View&) override {}
  QueueContents contents;
};
class NoBursts final : public BurstSink {
 public:
  void burst(const Burst& burst) override { looked_at += burst.victims; }
};

void match(const std::vector<Event>& events, MatchSink* sink) {
  MatchOptions options;
  options.max_packets = 1 << 14;
  TapMatcher matcher(options, sink);
  for (const Event& event : events) event.departure ? matcher.depart(event.view) : matcher.arrive(event.view);
}

struct Costs {
  double contents_ns = 0, both_ns = 0, sketch_ns = 0;
};

// Measures all rows or, if it is not empty, only the row `only`.
Costs measure(uint32_t flows, size_t packets, std::string_view only) {
  const std::vector<Triple> triples = triples_of(flows, packets);
  const std::vector<Event> events = views_of(triples);
  const ContentsOptions options;
  NoBursts no_bursts;
  const double pass = ns_per_packet(packets, [&] {
    for (const Event& event : events) looked_at += event.view.digest ^ event.view.flow_key ^ event.view.bytes;
  });
  const auto report = [&](const char* name, const std::function<void()>& run) {
    if (!only.empty() && only != name) return 0.0;
    const double ns = ns_per_packet(packets, run);
    std::printf("%-9u %-9s %7.1f ns/packet  %6.1f passes\n", flows, name, ns, ns / pass);
    return ns;
  };
  std::printf("%-9u %-9s %7.1f ns/packet\n", flows, "pass", pass);
  report("triples", [&] {
    for (const Triple& triple : triples)
      looked_at += triple.flow_key ^ static_cast<uint64_t>(triple.arrival_ns ^ triple.departure_ns) ^ triple.bytes;
  });
  const auto add_all = [&](BurstSink* bursts) {
    QueueContents contents(options, bursts);
    for (const Triple& triple : triples) looked_at += contents.add(triple.passage()).own_bytes;
  };
  Costs costs;
  costs.contents_ns = report("contents", [&] { add_all(nullptr); });
  // Does what queue_flows does, with intervals of a millisecond.
  report("flows", [&] {
    FlowIntervals intervals(options);
    int64_t end_ns = 0;
    for (const Triple& triple : triples) {
      if (triple.departure_ns >= end_ns) {
        intervals.close([](const FlowIntervals::Flow& flow, const FlowIntervals::Sums& sums) {
          looked_at += flow.wait.finding.own_bytes ^ sums.blamed_ns;
        });
        end_ns = triple.departure_ns + 1'000'000;
      }
      looked_at += intervals.add(triple.passage());
    }
  });
  report("bursts", [&] { add_all(&no_bursts); });
  report("match", [&] {
    CountingSink counted;
    match(events, &counted);
  });
  costs.both_ns = report("both", [&] {
    Contents contents(options);
    match(events, &contents);
  });
  const std::vector<ReportedHop> hops = hops_of(triples);
  report("hops", [&] {
    Contents contents(options);
    HopSequencer sequencer(SequencerOptions(), &contents);
    for (const ReportedHop& hop : hops) sequencer.add(hop.view, hop.arrival_ns, hop.captured_ns);
    sequencer.finish();
  });
  costs.sketch_ns = report("sketch", [&] {
    Snapshots snapshots({.snapshots = 4, .rows = 2, .columns = 2048, .window_shift = 18}, kKey);
    for (const Triple& triple : triples) {
      looked_at += static_cast<uint64_t>(
          snapshots.estimate(triple.flow_key, triple.arrival_ns, triple.departure_ns, Reading::kWeighted));
      snapshots.add(triple.flow_key, triple.departure_ns, triple.bytes);
    }
  });
  return costs;
}

bool check() {
  const Costs costs = measure(1000, kFewPackets, "");
  const bool fast = costs.contents_ns <= 5 * costs.sketch_ns && costs.both_ns <= 10 * costs.sketch_ns;
  if (!fast) std::printf("The exact contents cost too much compared with the sketch.\n");
  return fast;
}

}  // namespace
}  // namespace tapline::queues

int main(int argc, char** argv) {
  using namespace tapline::queues;
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string_view>{"--check"}) return check() ? 0 : 1;
  std::string_view only;
  if (arguments.size() == 2 && arguments[0] == "--only" && std::ranges::count(kRows, arguments[1]) == 1) {
    only = arguments[1];
  } else if (!arguments.empty()) {
    std::fprintf(stderr, "Usage: queues_bench [--check | --only ROW]\nRows:");
    for (const std::string_view row : kRows) std::fprintf(stderr, " %.*s", static_cast<int>(row.size()), row.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  for (const uint32_t flows : {1000u, 100'000u, 1'000'000u}) measure(flows, kPackets, only);
  return looked_at == 1 ? 1 : 0;
}
