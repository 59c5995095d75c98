#include "parsers/rates/testing/mirror_model.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace tapline::rates::testing {
namespace {

constexpr uint32_t kHeaders = 66;  // Ethernet, IPv4, TCP with timestamps
constexpr uint32_t kUdpHeaders = 42;
constexpr uint32_t kFraming = 24;
constexpr int64_t kCableNs = 2'000;

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(uniform() * end); }

 private:
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

int64_t transmission_ns(uint32_t wire_bytes, uint64_t bits_per_second) {
  return std::llround((wire_bytes + kFraming) * 8e9 / static_cast<double>(bits_per_second));
}

class Sender {
 public:
  Sender(uint32_t number, const FlowSpec& flow, const MirrorSpec& mirror, uint64_t seed)
      : flow_(flow), link_(mirror.link_bits_per_second), random_(seed), number_(number), seq_(flow.first_seq) {}

  std::vector<SentPacket> packets() {
    int64_t now_ns = flow_.begin_ns;
    uint32_t burst = flow_.pattern == Pattern::kSlowStart ? 10 : round_trip_packets();
    bool paced = flow_.pattern == Pattern::kPaced;
    while (now_ns < flow_.end_ns) {
      if (paced) {
        send_next(now_ns);
        now_ns += step_ns(now_ns);
        continue;
      }
      const int64_t burst_ns = now_ns;
      for (uint32_t i = 0; i < burst; ++i) send_next(burst_ns);
      now_ns = burst_ns + flow_.round_trip_ns * 9 / 10 + random_.below(static_cast<uint32_t>(flow_.round_trip_ns / 5));
      if (flow_.pattern == Pattern::kSlowStart) {
        burst *= 2;
        paced = burst >= round_trip_packets();
      }
    }
    while (!retransmissions_.empty()) retransmit();
    reorder();
    return std::move(sent_);
  }

 private:
  uint32_t wire_bytes(uint32_t payload) const { return payload + (flow_.udp ? kUdpHeaders : kHeaders); }
  double mean_wire_bytes() const {
    const double payload = flow_.mixed_sizes ? (1 + flow_.payload_bytes) / 2.0 : flow_.payload_bytes;
    return payload + (flow_.udp ? kUdpHeaders : kHeaders);
  }
  uint32_t round_trip_packets() const {
    const double bytes = static_cast<double>(flow_.bits_per_second) / 8e9 * static_cast<double>(flow_.round_trip_ns);
    return std::max(1u, static_cast<uint32_t>(bytes / mean_wire_bytes()));
  }

  // Returns the time to the next packet. The rate varies by ±20 %, like a congestion window that grows and is cut.
  int64_t step_ns(int64_t now_ns) {
    const double phase = std::fmod(static_cast<double>(now_ns) / 8e6 + number_ * 0.37, 1.0);
    const double rate = static_cast<double>(flow_.bits_per_second) * (0.8 + 0.4 * phase);
    return std::max<int64_t>(1, std::llround(mean_wire_bytes() * 8e9 / rate * (0.5 + random_.uniform())));
  }

  void send_next(int64_t at_ns) {
    while (!retransmissions_.empty() && retransmissions_.front().sent_ns <= std::max(at_ns, free_ns_)) retransmit();
    SentPacket packet;
    packet.seq = seq_;
    packet.payload_bytes = flow_.mixed_sizes ? 1 + random_.below(flow_.payload_bytes) : flow_.payload_bytes;
    seq_ += packet.payload_bytes;
    const bool before = random_.uniform() < flow_.lost_before, after = random_.uniform() < flow_.lost_after;
    put(packet, at_ns, before);
    if (!before && !after) return;
    packet.sent_ns = sent_.back().sent_ns + flow_.round_trip_ns;
    retransmissions_.push_back(packet);
  }

  void retransmit() {
    const SentPacket packet = retransmissions_.front();
    retransmissions_.pop_front();
    put(packet, packet.sent_ns, false);
  }

  void put(SentPacket packet, int64_t at_ns, bool is_lost) {
    packet.sent_ns = std::max(at_ns, free_ns_);
    packet.flow = number_;
    packet.wire_bytes = wire_bytes(packet.payload_bytes);
    packet.sent_before = total_;
    total_ += packet.wire_bytes;
    free_ns_ = packet.sent_ns + transmission_ns(packet.wire_bytes, link_);
    packet.arrival_ns = is_lost ? -1 : free_ns_ + kCableNs;
    sent_.push_back(packet);
  }

  void reorder() {
    if (flow_.reordered == 0) return;
    for (size_t i = 0; i + 1 < sent_.size(); ++i) {
      if (random_.uniform() < flow_.reordered) std::swap(sent_[i].arrival_ns, sent_[i + 1].arrival_ns);
    }
  }

  FlowSpec flow_;
  uint64_t link_;
  Random random_;
  uint32_t number_;
  uint32_t seq_;
  uint64_t total_ = 0;
  int64_t free_ns_ = 0;
  std::deque<SentPacket> retransmissions_;
  std::vector<SentPacket> sent_;
};

// A port with one or more drop-tail queues.
class Port {
 public:
  Port(const MirrorSpec& mirror, size_t flows, MirrorRun* run)
      : mirror_(mirror),
        queues_(mirror.scheduler == Scheduler::kFifo ? 1 : flows),
        queued_(queues_.size()),
        run_(run) {}

  void arrive(uint32_t packet) {
    const SentPacket& sent = run_->sent[packet];
    send_until(sent.arrival_ns);
    ++run_->arrived;
    const size_t queue = queues_.size() == 1 ? 0 : sent.flow;
    const bool no_place = mirror_.queue_packets != 0 && queues_[queue].size() >= mirror_.queue_packets / queues_.size();
    if (no_place || queued_[queue] + sent.wire_bytes > mirror_.queue_bytes / queues_.size()) {
      ++run_->dropped;
      if (run_->first_drop_ns < 0) run_->first_drop_ns = sent.arrival_ns;
      return;
    }
    queued_[queue] += sent.wire_bytes;
    ++waiting_;
    queues_[queue].push_back(packet);
    free_ns_ = std::max(free_ns_, sent.arrival_ns);
    send_until(sent.arrival_ns);
  }

  // Sends the frames whose transmission begins before this time.
  void send_until(int64_t time_ns) {
    while (waiting_ > 0 && free_ns_ <= time_ns) {
      while (queues_[turn_].empty()) turn_ = (turn_ + 1) % queues_.size();
      const uint32_t packet = queues_[turn_].front();
      queues_[turn_].pop_front();
      queued_[turn_] -= run_->sent[packet].wire_bytes;
      turn_ = (turn_ + 1) % queues_.size();
      --waiting_;
      free_ns_ += transmission_ns(run_->sent[packet].wire_bytes, mirror_.bits_per_second);
      Copy copy;
      copy.time_ns = free_ns_;
      copy.packet = packet;
      run_->copies.push_back(copy);
    }
  }

 private:
  MirrorSpec mirror_;
  std::vector<std::deque<uint32_t>> queues_;
  std::vector<uint64_t> queued_;
  MirrorRun* run_;
  size_t turn_ = 0;
  size_t waiting_ = 0;
  int64_t free_ns_ = 0;
};

}  // namespace

TcpSample Copy::sample(const SentPacket& sent) const {
  TcpSample sample;
  sample.time_ns = time_ns;
  sample.seq = sent.seq;
  sample.payload_bytes = sent.payload_bytes;
  sample.wire_bytes = sent.wire_bytes;
  return sample;
}

MirrorRun run_mirror(const std::vector<FlowSpec>& flows, const MirrorSpec& mirror, uint64_t seed) {
  MirrorRun run;
  for (uint32_t i = 0; i < flows.size(); ++i) {
    const std::vector<SentPacket> sent = Sender(i, flows[i], mirror, seed * 1000 + i).packets();
    run.sent.insert(run.sent.end(), sent.begin(), sent.end());
  }
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < run.sent.size(); ++i) {
    if (run.sent[i].arrival_ns >= 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return run.sent[a].arrival_ns < run.sent[b].arrival_ns; });
  Port port(mirror, flows.size(), &run);
  for (const uint32_t packet : order) port.arrive(packet);
  port.send_until(INT64_MAX);
  return run;
}

uint64_t sent_bytes(const MirrorRun& run, uint32_t flow, int64_t from_ns, int64_t to_ns) {
  uint64_t bytes = 0;
  for (const SentPacket& packet : run.sent) {
    if (packet.flow == flow && packet.sent_ns >= from_ns && packet.sent_ns < to_ns) bytes += packet.wire_bytes;
  }
  return bytes;
}

}  // namespace tapline::rates::testing
