// Prints the queue contents that each packet found, one line per departure with a known arrival: the bytes of all flows
// and of the packet's own flow, from the captures on both sides of the queue, and three estimates of the latter by
// ConQuest's sketch, one for each reading (parsers/queues/snapshots.h). Prints totals as JSON on standard error.
//
//   queue_passages [--link BITS_PER_S] ARRIVALS DEPARTURES [T in ns]
//
// If the speed of the queue's link is given, departures that were timestamped too late are corrected
// (parsers/queues/departure_times.h). The sketch has h=4, R=2, C=64. Its window length T,
// unless given, is a quarter of the longest wait.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packet_io/source/file_source.h"
#include "parsers/api/packet_digest.h"
#include "parsers/queues/packet_identity.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/queue_input.h"
#include "parsers/queues/snapshots.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {
namespace {

constexpr HashKey kKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
constexpr uint8_t kArrivals = 0;
constexpr int64_t kMaxDelayNs = 1'000'000'000;  // the parsers' default
constexpr int kWindowShift = 20;                // a window of the sketch is 2^20 units of its clock
constexpr Reading kReadings[] = {Reading::kComplete, Reading::kWithCurrent, Reading::kWeighted};

struct Departure {
  Passage passage;
  uint16_t src_port = 0;
};

// Matches the packets of both captures.
class Passages final : private MatchSink {
 public:
  // `link_bits_per_second` is 0 if the link's speed is unknown.
  explicit Passages(uint64_t link_bits_per_second)
      : input_(QueueSource::kTaps, {{.max_delay_ns = kMaxDelayNs}, {.link_bits_per_second = link_bits_per_second}},
               this) {}

  Status read(const std::string& arrivals, const std::string& departures) {
    FileSource source({.paths = {arrivals, departures}});
    Status status = source.start();
    if (!status.ok()) return status;
    std::array<RawPacket, kBurstPackets> raw;
    for (bool ended = false; !ended;) {
      const PacketSource::Burst burst = source.poll(raw);
      for (size_t i = 0; i < burst.packets; ++i) show(raw[i]);
      ended = burst.ended;
    }
    input_.finish();
    return source.status();
  }

  const std::vector<Departure>& all() const { return departures_; }
  MatchStatistics statistics() const { return input_.matches(); }

 private:
  void show(const RawPacket& raw) {
    Packet packet;
    const DecodeOutcome outcome = decode(raw, &packet);
    if (outcome != DecodeOutcome::kOk && !packet.fragment) return;
    const View view = {digest_of(packet, kKey), keys_.key_of(packet),  packet.time_ns,
                       packet.wire_bytes,       is_identified(packet), packet.src_port};
    packet.tap == kArrivals ? input_.arrive(view) : input_.depart(view);
  }
  void pass(const Passage& passage) override { departures_.push_back({passage, static_cast<uint16_t>(passage.tag)}); }
  void never_left(const View&) override {}

  FlowKeys keys_{FlowUnit::kFiveTuple};
  QueueInput input_;
  std::vector<Departure> departures_;
};

int64_t longest_delay_ns(const std::vector<Departure>& departures) {
  int64_t longest_ns = 0;
  for (const Departure& sent : departures) {
    if (sent.passage.arrival_known) longest_ns = std::max(longest_ns, sent.passage.delay_ns());
  }
  return longest_ns;
}

// The sketch's windows are a power of two long, so this clock's unit is chosen to make them `window_ns` long.
class Clock {
 public:
  Clock(int64_t begin_ns, int64_t window_ns) : begin_ns_(begin_ns), window_ns_(window_ns) {}
  int64_t at(int64_t time_ns) const {
    __extension__ using Wide = __int128;
    return static_cast<int64_t>((static_cast<Wide>(time_ns - begin_ns_) << kWindowShift) / window_ns_);
  }

 private:
  int64_t begin_ns_, window_ns_;
};

void print(const std::vector<Departure>& departures, int64_t window_ns) {
  QueueContents contents({}, nullptr);
  Snapshots snapshots({.snapshots = 4, .rows = 2, .columns = 64, .window_shift = kWindowShift}, kKey);
  std::printf(
      "departure_ns,arrival_ns,src_port,bytes,queue_bytes,own_bytes,error_bytes,complete,with_current,weighted\n");
  if (departures.empty()) return;
  // The clock begins a second before the first departure, so that known arrival times are not negative.
  const Clock clock(departures.front().passage.departure_ns - 1'000'000'000, window_ns);
  for (const Departure& sent : departures) {
    const Passage& passage = sent.passage;
    const Finding finding = contents.add(passage);
    const int64_t departure = clock.at(passage.departure_ns), arrival = clock.at(passage.arrival_ns);
    const auto estimate = [&](Reading reading) {
      return snapshots.estimate(passage.flow_key, arrival, departure, reading);
    };
    double estimates[] = {estimate(kReadings[0]), 0, estimate(kReadings[2])};
    snapshots.add(passage.flow_key, departure, passage.bytes);
    estimates[1] = estimate(kReadings[1]);
    if (!passage.arrival_known) continue;
    std::printf("%" PRId64 ",%" PRId64 ",%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.1f,%.1f,%.1f\n",
                passage.departure_ns, passage.arrival_ns, sent.src_port, passage.bytes, finding.queue_bytes,
                finding.own_bytes, finding.error_bytes, estimates[0], estimates[1], estimates[2]);
  }
}

int main_of(int argc, char** argv) {
  uint64_t link_bits_per_second = 0;
  if (argc >= 3 && std::string_view(argv[1]) == "--link") {
    link_bits_per_second = std::strtoull(argv[2], nullptr, 10);
    argc -= 2;
    argv += 2;
  }
  const int64_t given_ns = argc == 4 ? std::atoll(argv[3]) : 0;
  if (argc < 3 || argc > 4 || (argc == 4 && given_ns <= 0)) {
    std::fprintf(stderr, "Usage: queue_passages [--link BITS_PER_S] ARRIVALS DEPARTURES [T in ns]\n");
    return 2;
  }
  const auto passages = std::make_unique<Passages>(link_bits_per_second);
  if (const Status status = passages->read(argv[1], argv[2]); !status.ok()) {
    std::fprintf(stderr, "queue_passages: %s\n", status.message().c_str());
    return 1;
  }
  const int64_t window_ns = argc == 4 ? given_ns : std::max<int64_t>(longest_delay_ns(passages->all()) / 4, 1);
  print(passages->all(), window_ns);
  const MatchStatistics found = passages->statistics();
  std::fprintf(stderr,
               "{\"arrivals\":%" PRIu64 ",\"departures\":%" PRIu64 ",\"matched\":%" PRIu64 ",\"ambiguous\":%" PRIu64
               ",\"never_came\":%" PRIu64 ",\"never_left\":%" PRIu64 ",\"evicted\":%" PRIu64 ",\"window_ns\":%" PRId64
               "}\n",
               found.arrivals, found.departures, found.matched, found.ambiguous, found.never_came, found.never_left,
               found.evicted, window_ns);
  return 0;
}

}  // namespace
}  // namespace tapline::queues

int main(int argc, char** argv) { return tapline::queues::main_of(argc, argv); }
