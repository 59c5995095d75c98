// Compares the engine with the model on everything at once: programs that are replaced, one to four lanes, packets that
// arrive out of order, both address families, and TCP connections whose sequence numbers wrap. Lanes take turns at
// random on one thread, so a seed always gives the same result; host_swap_test runs lanes on threads.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "parsers/packets/tcp_flows.h"
#include "parsers/trigger/host_triggers.h"
#include "parsers/trigger/testing/lane_input.h"
#include "parsers/trigger/testing/random_traffic.h"
#include "parsers/trigger/testing/seeds.h"
#include "parsers/trigger/testing/versions.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::trigger::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint32_t kMaxLanes = 4;
constexpr GatherOptions kGather = {.cache_lines = 4, .max_groups = 1 << 10, .windows = 3};

using Endpoint = std::tuple<IpAddress, uint16_t, uint32_t, uint32_t>;
using Connection = std::pair<Endpoint, Endpoint>;  // the lower endpoint first

Endpoint sender_of(const Sample& sample) { return {sample.src_ip, sample.src_port, sample.vlan, sample.network_id}; }
Endpoint receiver_of(const Sample& sample) { return {sample.dst_ip, sample.dst_port, sample.vlan, sample.network_id}; }
Connection connection_of(const Sample& sample) { return std::minmax(sender_of(sample), receiver_of(sample)); }

// Makes most samples packets of an earlier sample's connection, in either direction.
void repeat_connections(std::vector<Sample>* samples, std::mt19937* random) {
  for (size_t i = 1; i < samples->size(); ++i) {
    Sample& sample = (*samples)[i];
    if ((*random)() % 10 == 0) continue;
    const Sample& earlier = (*samples)[(*random)() % i];
    const bool reverse = (*random)() % 3 == 0;
    sample.src_ip = reverse ? earlier.dst_ip : earlier.src_ip;
    sample.dst_ip = reverse ? earlier.src_ip : earlier.dst_ip;
    sample.src_port = reverse ? earlier.dst_port : earlier.src_port;
    sample.dst_port = reverse ? earlier.src_port : earlier.dst_port;
    sample.ip_version = earlier.ip_version;
    sample.vlan = earlier.vlan;
    sample.network_id = earlier.network_id;
    sample.protocol = earlier.protocol;
    if (sample.protocol != protocol::kTcp) sample.tcp_flags = 0;
    if ((*random)() % 8 != 0) sample.tcp_flags &= static_cast<uint8_t>(~tcp_flag::kSyn);
  }
}

// The positions of a segment in the streams of its connection: in the sender's, and the other one's that it
// acknowledges.
struct Positions {
  uint32_t sent = 0;
  uint32_t acknowledged = 0;
};

// Makes segments of the samples: most follow their predecessor; others skip bytes or repeat some.
std::vector<Positions> random_positions(const std::vector<Sample>& samples, std::mt19937* random) {
  std::map<std::pair<Endpoint, Endpoint>, uint32_t> ends;  // by sender and receiver
  std::vector<Positions> positions;
  for (const Sample& sample : samples) {
    uint32_t& end = ends[{sender_of(sample), receiver_of(sample)}];
    uint32_t begin = end;
    switch ((*random)() % 6) {
      case 0:
        begin += 1 + (*random)() % 3000;
        break;
      case 1:
        begin -= std::min<uint32_t>(begin, (*random)() % 4000);
        break;
      default:
        break;
    }
    end = std::max(end, begin + sample.payload_bytes);
    const uint32_t other_end = ends[{receiver_of(sample), sender_of(sample)}];
    positions.push_back({begin, other_end - std::min<uint32_t>(other_end, (*random)() % 2000)});
  }
  return positions;
}

// Determines the facts of a lane's samples, with sequence numbers that begin at `first`.
LaneInput with_facts(const std::vector<Sample>& samples, const std::vector<Positions>& positions, uint32_t first,
                     uint32_t burst) {
  TcpFlows flows({.max_flows = 1 << 12});
  LaneInput input;
  SampleBatch batch;
  for (size_t begin = 0; begin < samples.size(); begin += burst) {
    const size_t count = std::min<size_t>(burst, samples.size() - begin);
    std::vector<TcpNumbers> numbers;
    for (size_t i = begin; i < begin + count; ++i) {
      numbers.push_back({first + positions[i].sent, first + positions[i].acknowledged});
    }
    flows.observe({samples.data() + begin, count}, numbers, &batch);
    for (size_t i = 0; i < batch.size; ++i) {
      input.samples.push_back(batch.samples[i]);
      input.tcp.push_back(batch.facts[i]);
    }
  }
  EXPECT_EQ(flows.evicted_flows(), 0u);
  return input;
}

void expect_equal(const LaneInput& one, const LaneInput& other) {
  ASSERT_EQ(one.samples.size(), other.samples.size());
  for (size_t i = 0; i < one.tcp.size(); ++i) {
    const TcpFacts &a = one.tcp[i], &b = other.tcp[i];
    ASSERT_EQ(std::tie(a.retransmitted_bytes, a.out_of_order_bytes, a.missing_bytes, a.rtt_ns),
              std::tie(b.retransmitted_bytes, b.out_of_order_bytes, b.missing_bytes, b.rtt_ns))
        << "sample " << i;
  }
}

// A random program, its input by lane, and all samples for the model, in order of the time at which lanes count them.
struct Case {
  std::vector<Trigger> triggers;
  std::vector<LaneInput> lanes;
  std::vector<Sample> samples;
  std::vector<TcpFacts> tcp;
  int64_t start_ns = 0;
  int64_t until_ns = 0;
  size_t with_facts = 0;  // samples with a fact other than 0
};

Case random_case(uint32_t seed) {
  RandomTraffic traffic(seed, {.triggers = 1 + seed % 30,
                               .samples = 300,
                               .duration_ns = 60 * kMs,
                               .alerts = seed % 3 != 0,
                               .silence = seed % 2 == 0,
                               .sketches = seed % 5 == 0});
  std::mt19937 random(seed);
  Case input;
  input.triggers = traffic.triggers();
  std::vector<Sample> samples = traffic.samples();
  repeat_connections(&samples, &random);
  const std::vector<Positions> positions = random_positions(samples, &random);
  input.start_ns = samples[0].time_ns;
  const uint32_t lane_count = 1 + seed % kMaxLanes;
  std::map<Connection, uint32_t> lane_of;  // as a port's receive-side scaling: both directions on one lane
  std::vector<std::vector<Sample>> of_lane(lane_count);
  std::vector<std::vector<Positions>> positions_of_lane(lane_count);
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint32_t lane = lane_of.try_emplace(connection_of(samples[i]), random() % lane_count).first->second;
    of_lane[lane].push_back(samples[i]);
    positions_of_lane[lane].push_back(positions[i]);
  }
  std::vector<std::pair<Sample, TcpFacts>> all;
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    const uint32_t burst = 1 + random() % TcpFlows::kBurst;
    const uint32_t wrapping = UINT32_MAX - random() % 8000;
    input.lanes.push_back(with_facts(of_lane[lane], positions_of_lane[lane], wrapping, burst));
    const LaneInput plain = with_facts(of_lane[lane], positions_of_lane[lane], 1'000'000, burst);
    expect_equal(input.lanes[lane], plain);
    int64_t time_ns = input.start_ns;
    for (size_t i = 0; i < plain.samples.size(); ++i) {
      time_ns = std::max(time_ns, plain.samples[i].time_ns);
      all.emplace_back(plain.samples[i], plain.tcp[i]);
      all.back().first.time_ns = time_ns;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.time_ns < b.first.time_ns; });
  for (const auto& [sample, facts] : all) {
    input.samples.push_back(sample);
    input.tcp.push_back(facts);
    input.with_facts += facts.retransmitted_bytes + facts.out_of_order_bytes + facts.missing_bytes + facts.rtt_ns > 0;
  }
  input.until_ns = input.samples.back().time_ns + 50 * kMs;
  return input;
}

// The recorded events, and the programs that counted.
struct Outcome {
  SwapRecorder recorder;
  std::map<const Program*, std::vector<Trigger>> offered;
  std::vector<std::shared_ptr<const Program>> kept;  // so that no two programs have the same address
  std::vector<Version> versions;

  std::shared_ptr<const Program> next(const std::vector<Trigger>& triggers, std::mt19937* random) {
    const std::vector<Trigger> some = some_of(triggers, random);
    kept.push_back(program_of(some));
    offered[kept.back().get()] = some;
    return kept.back();
  }
};

void run_engine(const Case& input, std::mt19937* random, Outcome* outcome) {
  TriggerOptions options = {.gather = {.cache_lines = 4, .max_groups = 1 << 10}, .sweep = {.max_events = UINT32_MAX}};
  options.steps_per_burst = 1 + (*random)() % 200;
  options.populated_bytes = 1 << 12;
  TriggerEngine engine(program_of(input.triggers), options, &outcome->recorder);
  const LaneInput& lane = input.lanes[0];
  for (size_t index = 0; index < lane.samples.size();) {
    const size_t count = std::min<size_t>(1 + (*random)() % 40, lane.samples.size() - index);
    if (index > 0 && !engine.pending() && (*random)() % 4 == 0) {
      engine.offer(engine.prepare(outcome->next(input.triggers, random)));
    }
    engine.process({lane.samples.data() + index, count}, {lane.tcp.data() + index, count});
    index += count;
  }
  engine.advance(input.until_ns);
}

// Advances a random lane, sweeps or replaces the program, until all lanes have reached the end.
void run_host(const Case& input, std::mt19937* random, Outcome* outcome) {
  const auto lane_count = static_cast<uint32_t>(input.lanes.size());
  HostTriggers host(program_of(input.triggers), lane_count, kGather, {.max_events = UINT32_MAX}, &outcome->recorder);
  std::vector<size_t> done(lane_count);
  std::vector<bool> ended(lane_count);
  for (uint32_t lane = 0; lane < lane_count; ++lane) host.advance(lane, input.start_ns);
  for (uint32_t running = lane_count; running > 0;) {
    if ((*random)() % 3 == 0) host.sweep(1 + (*random)() % 60);
    if ((*random)() % 30 == 0 && !host.replacing()) {
      host.offer(host.prepare(outcome->next(input.triggers, random), kGather));
    }
    const uint32_t lane = (*random)() % lane_count;
    const LaneInput& own = input.lanes[lane];
    for (uint32_t burst = 1 + (*random)() % 20; burst > 0 && !ended[lane] && host.has_room(lane); --burst) {
      if (done[lane] == own.samples.size()) {
        host.advance(lane, input.until_ns);
        ended[lane] = true;
        --running;
        break;
      }
      if ((*random)() % 8 == 0) host.advance(lane, own.samples[done[lane]].time_ns);
      host.process(lane, {&own.samples[done[lane]], 1}, {&own.tcp[done[lane]], 1});
      ++done[lane];
    }
  }
  while (host.sweep(7)) {
  }
}

TEST(TriggerOracleWhole, EventsValuesAndWindowsMatchTheModel) {
  // Each program takes memory that is mostly unused, so clearing huge pages would take most of the time.
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  size_t events = 0, swaps = 0, facts = 0, cases = 0;
  for (uint32_t seed = 0; seed < seeds(500) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Case input = random_case(seed);
    std::mt19937 random(seed);
    Outcome outcome;
    input.lanes.size() == 1 && seed % 8 == 0 ? run_engine(input, &random, &outcome)
                                             : run_host(input, &random, &outcome);
    std::vector<Version> versions = {{input.triggers, 0}};
    add_versions(outcome.recorder, outcome.offered, &versions);
    const auto reported = reported_events(outcome.recorder);
    const auto expected = expected_events(versions, input.samples, input.tcp, input.until_ns);
    expect_same_occasions(reported, expected);
    for (const auto& [occasion, event] : reported) {
      SCOPED_TRACE(to_string(occasion));
      if (const auto it = expected.find(occasion); it != expected.end()) expect_value(event, it->second);
    }
    for (const WindowReport& report : outcome.recorder.reports) EXPECT_EQ(report.uncounted_packets, 0u);
    events += reported.size();
    swaps += outcome.recorder.programs.size();
    facts += input.with_facts;
    ++cases;
  }
  EXPECT_GT(events, 10 * cases) << "too few cases were tested";
  EXPECT_GT(swaps, cases) << "too few programs were replaced";
  EXPECT_GT(facts, 10 * cases) << "too few packets had facts";
}

}  // namespace
}  // namespace tapline::trigger::testing
