#include "parsers/packets/tcp_flows.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>

#include "parsers/api/sequence.h"

namespace tapline {
namespace {

// Sequence numbers further apart than this belong to different connections.
constexpr int32_t kMaxJumpBytes = 1 << 26;

constexpr uint32_t kLastSentMask = (1u << 27) - 1;
// Keep-alives are at least a second apart, since systems configure their interval in seconds.
constexpr uint32_t kMinKeepAliveMs = 900;
constexpr uint32_t kMaxLateMs = 60'000;

uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) | 1; }
uint32_t milliseconds(int64_t time_ns) { return static_cast<uint32_t>(time_ns / 1'000'000); }

// Returns the elapsed time. Times wrap at `mask`. Packets may be out of order, so a time up to a minute in the future
// counts as the present.
uint32_t elapsed_ms(uint32_t since_ms, uint32_t now_ms, uint32_t mask) {
  const uint32_t elapsed = (now_ms - since_ms) & mask;
  return elapsed > mask - kMaxLateMs ? 0 : elapsed;
}

// Compares two keys without calling memcmp().
bool is_same(const uint64_t* a, const uint64_t* b) {
  uint64_t difference = 0;
  for (int word = 0; word < kKeyWords; ++word) difference |= a[word] ^ b[word];
  return difference == 0;
}

// Makes a sample that only corrects the counts of the other direction.
Sample correction_for_peer(const Sample& sample) {
  Sample result = sample;
  std::swap(result.src_ip, result.dst_ip);
  std::swap(result.src_port, result.dst_port);
  result.tcp_flags = 0;
  result.packets = 0;
  result.bytes = result.payload_bytes = 0;
  return result;
}

}  // namespace

TcpFlows::TcpFlows(const TcpFlowOptions& options)
    : options_(options),
      set_mask_(options.max_flows / kWays - 1),
      places_(options.max_flows / kWays * sizeof(Places)),
      flow_memory_(options.max_flows * sizeof(Flow)),
      hole_memory_(options.max_flows * 2 * kHoles * sizeof(Hole)) {
  std::random_device random;
  for (uint64_t& word : hash_key_) word = (uint64_t{random()} << 32 | random()) | 1;
}

// Works in three steps over the burst, so that the loads of one step overlap.
void TcpFlows::observe(std::span<const Sample> samples, std::span<const TcpNumbers> numbers, SampleBatch* batch) {
  batch->size = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    keys_[i] = key_of(samples[i]);
    __builtin_prefetch(places(keys_[i].hash), 1);
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    const Places& slots = *places(keys_[i].hash);
    for (uint32_t way = 0; way < kWays; ++way) {
      if (slots.tags[way] != tag_of(keys_[i].hash)) continue;
      const auto* entry = reinterpret_cast<const std::byte*>(flow(keys_[i].hash, way));
      for (size_t line = 0; line < sizeof(Flow); line += 64) __builtin_prefetch(entry + line, 1);
    }
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t index = batch->size++;
    batch->samples[index] = samples[i];
    batch->facts[index] = TcpFacts{};
    if (samples[i].protocol == protocol::kTcp) observe_one(keys_[i], samples[i], numbers[i], batch);
  }
}

TcpFlows::Key TcpFlows::key_of(const Sample& sample) const {
  Key key;
  std::memcpy(key.words, &sample.src_ip, sizeof key.words);
  // Any order works, so words are compared instead of bytes.
  const auto source = std::tuple(key.words[0], key.words[1], sample.src_port),
             destination = std::tuple(key.words[2], key.words[3], sample.dst_port);
  key.side = source > destination ? 1 : 0;
  uint32_t ports = sample.src_port | uint32_t{sample.dst_port} << 16;
  if (key.side == 1) {
    std::swap(key.words[0], key.words[2]);
    std::swap(key.words[1], key.words[3]);
    ports = ports << 16 | ports >> 16;
  }
  key.words[4] = ports;
  uint64_t sum = 0;
  for (int word = 0; word < kKeyWords; word += 2) {
    sum += fold(key.words[word] + hash_key_[word], key.words[word + 1] + hash_key_[word + 1]);
  }
  key.hash = fold(sum + hash_key_[6], hash_key_[7]);
  return key;
}

TcpFlows::Flow* TcpFlows::find(const Key& key, int64_t time_ns) const {
  Places& slots = *places(key.hash);
  for (uint32_t way = 0; way < kWays; ++way) {
    if (slots.tags[way] != tag_of(key.hash)) continue;
    Flow* candidate = flow(key.hash, way);
    if (!is_same(candidate->key, key.words)) continue;
    slots.last_seen_ms[way] = milliseconds(time_ns);
    return candidate;
  }
  return nullptr;
}

TcpFlows::Sender TcpFlows::sender(Flow* flow, int side) const {
  const auto index = static_cast<size_t>(flow - reinterpret_cast<Flow*>(flow_memory_.data()));
  Hole* const holes = reinterpret_cast<Hole*>(hole_memory_.data()) + (index * 2 + static_cast<size_t>(side)) * kHoles;
  return {&flow->sides[side], holes};
}

TcpFlows::Flow* TcpFlows::add(const Key& key, int64_t time_ns) {
  Places& slots = *places(key.hash);
  const uint32_t now_ms = milliseconds(time_ns);
  uint32_t chosen = 0;
  int64_t longest_ms = -1;
  for (uint32_t way = 0; way < kWays; ++way) {
    const int64_t silent_ms =
        slots.tags[way] == 0 ? INT64_MAX : elapsed_ms(slots.last_seen_ms[way], now_ms, UINT32_MAX);
    if (silent_ms <= longest_ms) continue;
    longest_ms = silent_ms;
    chosen = way;
  }
  ++(slots.tags[chosen] == 0 ? flows_ : evicted_flows_);
  slots.tags[chosen] = tag_of(key.hash);
  slots.last_seen_ms[chosen] = now_ms;
  Flow* added_flow = flow(key.hash, chosen);
  *added_flow = Flow{};
  std::memcpy(added_flow->key, key.words, sizeof key.words);
  if (options_.window_ns > 0) added_flow->window = time_ns / options_.window_ns;
  return added_flow;
}

void TcpFlows::observe_one(const Key& key, const Sample& sample, const TcpNumbers& numbers, SampleBatch* batch) {
  Flow* flow = find(key, sample.time_ns);
  if (flow == nullptr) {
    if (sample.payload_bytes == 0) return;
    flow = add(key, sample.time_ns);
  }
  TcpFacts* own = &batch->facts[batch->size - 1];
  TcpFacts peer_facts;
  const Sender sender = this->sender(flow, key.side);
  SideState& receiver = flow->sides[1 - key.side];
  if (options_.window_ns > 0) begin_window(flow, key.side, sample.time_ns / options_.window_ns, own, &peer_facts);
  const bool is_syn = (sample.tcp_flags & tcp_flag::kSyn) != 0;
  const uint32_t seq = numbers.seq + (is_syn ? 1 : 0);
  if (is_syn) {
    sender.state->syn_seen = true;
    sender.state->restart_at = seq;
  }
  if (sample.payload_bytes > 0) send(sender, seq, sample, own);
  if ((sample.tcp_flags & tcp_flag::kAck) != 0) acknowledge(&receiver, numbers.ack, sample.time_ns, own, &peer_facts);
  if (peer_facts.in_flight_bytes == 0 && peer_facts.unacked_bytes == 0) return;
  batch->samples[batch->size] = correction_for_peer(sample);
  batch->facts[batch->size++] = peer_facts;
}

// Begins a window with its first packet. Nothing has happened since the previous packet, so the bytes in flight now
// were in flight at the end of the last window.
void TcpFlows::begin_window(Flow* flow, int side, int64_t window, TcpFacts* own, TcpFacts* peer_facts) const {
  if (window <= flow->window) return;
  flow->window = window;
  for (int direction = 0; direction < 2; ++direction) {
    SideState& state = flow->sides[direction];
    state.window_mark = state.seq_end;
    if (!state.seq_known || !state.ack_known) continue;
    const int32_t in_flight = std::max(0, sequence_distance(state.acked, state.seq_end));
    TcpFacts* facts = direction == side ? own : peer_facts;
    facts->in_flight_bytes += static_cast<uint32_t>(in_flight);
    facts->unacked_bytes += in_flight;
  }
}

void TcpFlows::start(SideState* side, uint32_t seq) {
  *side = SideState{};
  side->seq_end = side->window_mark = seq;
  side->seq_known = true;
}

// Returns true for a keep-alive. It repeats the last byte after all bytes were acknowledged (RFC 9293 section 3.8.4).
// So does the retransmission of a byte whose ACK was lost after the tap, but that comes within a retransmission
// timeout, not after a silence.
bool TcpFlows::is_keep_alive(const SideState& side, uint32_t seq, const Sample& sample) {
  if (sample.payload_bytes != 1 || !side.ack_known || side.acked != side.seq_end) return false;
  if (sequence_distance(side.seq_end, seq) != -1) return false;
  return elapsed_ms(side.last_sent_ms, milliseconds(sample.time_ns), kLastSentMask) >= kMinKeepAliveMs;
}

void TcpFlows::send(const Sender& sender, uint32_t seq, const Sample& sample, TcpFacts* facts) {
  SideState* const side = sender.state;
  const uint32_t end = seq + sample.payload_bytes;
  const bool restarts =
      side->syn_seen && seq == side->restart_at && sequence_distance(seq, side->seq_end) != 0 &&
      std::abs(int64_t{sequence_distance(seq, side->seq_end)}) > static_cast<int64_t>(sample.payload_bytes);
  const bool jumps = std::abs(int64_t{sequence_distance(side->seq_end, seq)}) > kMaxJumpBytes;
  if (!side->seq_known || restarts || jumps) start(side, seq);
  const bool keep_alive = is_keep_alive(*side, seq, sample);
  side->last_sent_ms = milliseconds(sample.time_ns) & kLastSentMask;
  if (keep_alive) return;
  const int32_t ahead = sequence_distance(side->seq_end, seq);
  if (ahead > 0) {
    facts->missing_bytes = static_cast<uint32_t>(ahead);
    add_hole(sender, side->seq_end, seq, sample.time_ns);
  } else if (ahead < 0) {
    const bool all_old = sequence_distance(end, side->seq_end) >= 0;
    fill(sender, seq, all_old ? end : side->seq_end, sample.time_ns, facts);
    // The ACK of a segment that was sent twice is ambiguous (Karn and Partridge 1987).
    side->measuring = false;
    if (all_old) return;
  }
  side->seq_end = end;
  if (side->measuring) return;
  side->measuring = true;
  side->measured_end = end;
  side->measured_ns = sample.time_ns;
}

// Handles bytes below the highest one seen: those in a hole are new here, and all others were captured before.
void TcpFlows::fill(const Sender& sender, uint32_t begin, uint32_t end, int64_t time_ns, TcpFacts* facts) {
  uint32_t repeated = end - begin;
  for (int i = 0; sender.state->has_holes && i < kHoles; ++i) {
    Hole& hole = sender.holes[i];
    if (hole.begin == hole.end) continue;
    const uint32_t first = sequence_distance(hole.begin, begin) > 0 ? begin : hole.begin;
    const uint32_t last = sequence_distance(end, hole.end) > 0 ? end : hole.end;
    const int32_t filled = sequence_distance(first, last);
    if (filled <= 0) continue;
    if (time_ns - hole.since_ns <= options_.reorder_ns) {
      facts->out_of_order_bytes += static_cast<uint32_t>(filled);
      repeated -= static_cast<uint32_t>(filled);
    }
    const Hole previous_hole = {hole.begin, first, hole.since_ns}, after = {last, hole.end, hole.since_ns};
    hole = previous_hole.begin != previous_hole.end ? previous_hole : after;
    if (previous_hole.begin != previous_hole.end && after.begin != after.end)
      add_hole(sender, after.begin, after.end, after.since_ns);
  }
  facts->retransmitted_bytes = repeated;
}

void TcpFlows::add_hole(const Sender& sender, uint32_t begin, uint32_t end, int64_t time_ns) {
  const std::span holes(sender.holes, kHoles);
  if (!sender.state->has_holes) std::ranges::fill(holes, Hole{});
  sender.state->has_holes = true;
  Hole* chosen_hole = &holes[0];
  for (Hole& hole : holes) {
    if (hole.begin == hole.end) {
      chosen_hole = &hole;
      break;
    }
    if (hole.since_ns < chosen_hole->since_ns) chosen_hole = &hole;
  }
  if (chosen_hole->begin != chosen_hole->end) ++forgotten_holes_;
  *chosen_hole = {begin, end, time_ns};
}

void TcpFlows::acknowledge(SideState* sent, uint32_t ack, int64_t time_ns, TcpFacts* own, TcpFacts* peer_facts) {
  if (!sent->seq_known) return;
  // The ACK may exceed seq_end: a FIN consumes a sequence number, and the ACK may cover data that was not captured. An
  // ACK that is further off is ignored.
  if (std::abs(int64_t{sequence_distance(sent->seq_end, ack)}) > kMaxJumpBytes) return;
  if (sent->measuring && sequence_distance(sent->measured_end, ack) >= 0) {
    own->rtt_ns = static_cast<uint32_t>(std::clamp<int64_t>(time_ns - sent->measured_ns, 1, UINT32_MAX));
    sent->measuring = false;
  }
  if (!sent->ack_known) {
    sent->ack_known = true;
    sent->acked = ack;
    return;
  }
  if (sequence_distance(sent->acked, ack) <= 0) return;
  const uint32_t counted = sequence_distance(ack, sent->window_mark) < 0 ? sent->window_mark : ack;
  peer_facts->unacked_bytes -= std::max(0, sequence_distance(sent->acked, counted));
  sent->acked = ack;
}

}  // namespace tapline
