#include "monitors/lane/lane.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "packet_io/base/clock.h"
#include "packet_io/base/time_slice.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Reading a port's losses costs system calls.
constexpr int64_t kReadLossesEveryNs = 100'000'000;
// No queue holds this many bursts, so this many polls drain it.
constexpr int kMaxPollsBehind = 4096;

}  // namespace

Lane::Lane(const LaneOptions& options, std::span<const QuerySpec> queries, PacketSource* source, PacketStage* stage,
           QueryAccounts* accounts, PacketCredits* credits, const std::atomic<bool>* stop)
    : options_(options),
      source_(source),
      stage_(stage),
      accounts_(accounts),
      stop_(stop),
      queries_(queries),
      gate_(queries, accounts, credits),
      hasher_(options.hash_key),
      fragments_({}, options.hash_key),
      pacer_(options.busy),
      page_(options.page == nullptr ? nullptr : &options.page->lanes[options.index]),
      accounting_(page_ == nullptr ? own_accounting_ : page_->accounting),
      own_taps_(page_ == nullptr ? options.taps : 0),
      taps_(page_ == nullptr ? std::span(own_taps_) : std::span(page_->taps).first(options.taps)) {
  taps_seen_.resize(options.taps);
  if (options.views) views_.emplace(*options.views, options.hash_key);
  pipeline_limits_.fill(1);
  if (options.drop_duplicates) duplicates_.emplace(DuplicateOptions(), options.hash_key);
}

void Lane::add(uint32_t query) {
  stage_->add_query(query);
  gate_.add(query, wall_ns());
  const QuerySpec& spec = queries_[query];
  const uint64_t bit = uint64_t{1} << query;
  unwatched_ = spec.copies_unconfirmed ? unwatched_ & ~bit : unwatched_ | bit;
  unconfirmed_ = spec.copies_unconfirmed ? unconfirmed_ | bit : unconfirmed_ & ~bit;
  pipeline_limits_[query] = spec.pipeline_limit;
  if (!spec.rate_may_fall || spec.sampling_rate <= sampling_rate(query)) return;
  stage_->set_sampling_rate(query, sampling_rate(query));
  gate_.set_sampling_rate(query, sampling_rate(query));
}

// Returns the minimum of the query's own rate, the rate this lane can sustain, and the rate the pipeline can sustain.
double Lane::sampling_rate(uint32_t query) const {
  return std::min({queries_[query].sampling_rate, applied_limit_, pipeline_limits_[query]});
}

void Lane::begin_to_watch(int64_t time_ns) {
  for (uint32_t query : SetBits(std::exchange(unwatched_, 0))) {
    stage_->set_watched_since(query, time_ns);
  }
}

// Handles the confirmation that switches copy all of the query's packets. Only the first one counts; a control plane
// that takes over sends another.
void Lane::mirrored(uint32_t query) {
  const uint64_t bit = uint64_t{1} << query;
  if ((unconfirmed_ & gate_.active() & bit) != 0) stage_->set_watched_since(query, wall_ns());
  unconfirmed_ &= ~bit;
}

bool Lane::may_continue() const {
  return (gate_.active() != 0 || options_.stay) && !stop_->load(std::memory_order_relaxed) && stage_->status().ok();
}

Status Lane::run() {
  enter();
  if (source_->live()) request_short_slice();
  if (source_->live() && !clock_started_) start_clock(wall_ns());
  if (source_->live()) begin_to_watch(wall_ns());
  std::array<RawPacket, kBurstPackets> burst;
  bool ended = false;
  while (!ended && may_continue()) {
    inbox_.take([this](LaneCommand& command) { execute(command); });
    PacketSource::Burst got = source_->poll(burst);
    ended = got.ended;
    if (page_ != nullptr) {
      note_burst({burst.data(), got.packets});
      page_->polled += got.packets;
    }
    caught_up_ = got.packets < burst.size();
    process({burst.data(), got.packets});
    if (caught_up_) empty_at_ns_ = source_->idle_time_ns().value_or(0);
    tick();
    if (got.packets == 0 && !ended) idle();
    // A file that is read as fast as possible always has a next burst.
    bool may_sleep = source_->live() || got.packets == 0;
    int64_t sleep_ns = may_sleep && !ended ? pacer_.after_poll(got.packets, now_ns_) : 0;
    if (sleep_ns > 0 && !end_under_way_ && !stage_->has_work()) sleep_for(sleep_ns);
  }
  Status status = end();
  progress_.over.store(true, std::memory_order_release);
  return status;
}

void Lane::enter() {
  if (page_ == nullptr) return;
  page_->thread_id.store(gettid(), std::memory_order_relaxed);
  set_call_mark(&page_->call);
  if (!options_.page->restarted()) return;
  progress_.done.store(page_->done, std::memory_order_relaxed);
  if (options_.page->clock_start_ns != INT64_MIN) start_clock(options_.page->clock_start_ns);
  // The crashed process's view filter is lost, so its views count as forgotten: one per packet that passed, up to the
  // capacity.
  if (views_) {
    uint64_t passed = 0;
    for (const TapAccounting& tap : taps_) passed += tap.passed;
    accounting_.forgotten_views += std::min(passed, views_->capacity());
  }
  // After a restart, a file source skips the packets that were read before. Losses up to that point were already
  // counted.
  if (source_->live()) return;
  losses_ = source_->read_losses();
  for (uint8_t tap = 0; tap < taps_seen_.size(); ++tap)
    taps_seen_[tap] = {source_->read_losses(tap), source_->late_packets(tap)};
}

void Lane::start_clock(int64_t start_ns) {
  gate_.start_clock(start_ns);
  clock_started_ = true;
  if (page_ != nullptr && options_.index == 0) options_.page->clock_start_ns = start_ns;
}

Status Lane::end() {
  count_losses();
  publish_progress();
  if (!source_->status().ok()) return source_->status();
  if (!stage_->status().ok()) return stage_->status();
  stage_->capture_over();
  fragments_.clear();
  count_lost_fragments();
  end_queries(gate_.active());
  while (end_under_way_) continue_end();
  Status status = stage_->finish();
  if (status.ok() && page_ != nullptr) page_->done = ~uint64_t{0};
  return status;
}

void Lane::execute(LaneCommand& command) {
  const uint64_t bit = uint64_t{1} << command.query;
  if (command.kind == LaneCommand::Kind::kAdd) {
    progress_.done.store(progress_.done.load(std::memory_order_relaxed) & ~bit, std::memory_order_relaxed);
    if (page_ != nullptr) page_->done &= ~bit;
    add(command.query);
    if (source_->live()) begin_to_watch(wall_ns());
  } else if (command.kind == LaneCommand::Kind::kLimit) {
    limits_changed_ |= pipeline_limits_[command.query] != command.rate;
    pipeline_limits_[command.query] = command.rate;
  } else if (command.kind == LaneCommand::Kind::kMirrored) {
    mirrored(command.query);
  } else if (command.kind == LaneCommand::Kind::kLose) {
    lose_everywhere(index_of(Drop::kMirrorLost), command.packets);
  } else if ((gate_.active() & bit) != 0) {
    end_queries(bit);
  }
  command.answer();
}

void Lane::process(std::span<const RawPacket> packets) {
  if (reports_losses()) {
    for (const RawPacket& raw : packets) {
      if (raw.time_ns >= reported_.next_ns) report_losses(raw.time_ns);
    }
  }
  while (!packets.empty() && (gate_.active() != 0 || options_.stay)) {
    packets = packets.subspan(gate_.decides_by_connection() ? process_some(packets) : process_all(packets));
  }
  if (page_ != nullptr) std::fill_n(page_->burst_left.begin(), taps_.size(), 0);
}

void Lane::note_burst(std::span<const RawPacket> packets) {
  if (taps_.size() == 1) {
    page_->burst_left[0] = packets.size();
    return;
  }
  for (const RawPacket& raw : packets) ++page_->burst_left[raw.tap];
}

size_t Lane::process_all(std::span<const RawPacket> packets) {
  for (const RawPacket& raw : packets) {
    if (gate_.active() == 0 && !options_.stay) break;
    if (page_ != nullptr) --page_->burst_left[raw.tap];
    process_one(raw);
  }
  run_parsers();
  return packets.size();
}

// Lets the engine consume undecoded packets that no parser has to see, and processes the others. Returns the number of
// packets of the burst that are done. REQUIRES: every active query wants either all packets of a connection or none.
size_t Lane::process_some(std::span<const RawPacket> packets) {
  // Duplicates and repeated views can only be detected among decoded packets.
  if (duplicates_ || views_ || any_marked(packets)) return process_all(packets);
  const int64_t end_ns = std::min(gate_.next_deadline_ns(), next_second_ns_);
  const Engine::AbsorbResult absorbed = stage_->absorb(packets, gate_.unconditional(), gate_.by_endpoints(), end_ns);
  if (absorbed.scanned == 0) return process_all(packets);
  accounting_.received += absorbed.packets;
  accounting_.received_bytes += absorbed.bytes;
  accounting_.matched += absorbed.packets;
  count_absorbed(packets, absorbed);
  for (const auto& share : absorbed.shares) gate_.admit_unseen(share.queries, share.packets, share.bytes);
  if (page_ != nullptr) {
    note_absorbed(packets, absorbed);
    note_parsed();
  }
  for (uint32_t packet : SetBits(absorbed.left)) {
    if (gate_.active() == 0 && !options_.stay) break;
    if (page_ != nullptr) --page_->burst_left[packets[packet].tap];
    process_one(packets[packet]);
  }
  run_parsers();
  if (absorbed.packets != 0) stage_->advance(absorbed.latest_ns);
  return absorbed.scanned;
}

void Lane::process_one(const RawPacket& raw) {
  if (!clock_started_) start_clock(raw.time_ns);
  if (raw.time_ns >= gate_.next_deadline_ns()) {
    expire_at(raw.time_ns);
    if (gate_.active() == 0 && !options_.stay) return;
  }
  if (raw.time_ns >= next_second_ns_) close_second(raw.time_ns);
  ++accounting_.received;
  accounting_.received_bytes += raw.wire_bytes;
  TapAccounting& tap = taps_[raw.tap];
  ++tap.received;
  tap.received_bytes += raw.wire_bytes;
  Packet* packet = &packets_[waiting_];
  const DecodeOutcome outcome = decode(raw, hasher_, packet);
  packet->buffer = raw.buffer;
  if ((views_ || is_marked(raw)) && is_repeated_view(outcome, packet)) return;
  if (duplicates_ && is_duplicate(outcome, *packet)) return;
  if (outcome == DecodeOutcome::kOk) [[likely]] {
    ++tap.passed;
  } else {
    if (packet->fragment && stage_->wants_fragments()) packet = pass_fragment(packet);
    if (!complete_packet(outcome, &tap, packet)) return;
  }
  ++(gate_.admit(packet) ? accounting_.matched : accounting_.unmatched);
  if (packet->queries != 0) ++waiting_;
  if (gate_.satisfied() != 0) end_queries(gate_.satisfied());
}

// Counts a fragment or an undecodable frame. Returns true if it is a fragment that completes a decodable datagram;
// *packet is then the datagram.
bool Lane::complete_packet(DecodeOutcome outcome, TapAccounting* tap, Packet* packet) {
  if (outcome == DecodeOutcome::kFragment) {
    ++tap->passed;
    outcome = reassemble(packet);
    if (outcome == DecodeOutcome::kFragment) return false;
  } else {
    ++tap->undecodable[static_cast<int>(outcome)];
  }
  if (outcome == DecodeOutcome::kOk) return true;
  lose_packets(outcome, 1, packet->wire_bytes);
  if (outcome != DecodeOutcome::kNotIp && stage_->wants_losses()) stage_->lose({1, packet->time_ns, packet->time_ns});
  return false;
}

// Replaces *packet with the datagram that it completes. Returns the datagram's outcome, or kFragment if *packet
// completes none. In a tunnel, a datagram may itself contain a fragment of another datagram.
DecodeOutcome Lane::reassemble(Packet* packet) {
  DecodeOutcome outcome = DecodeOutcome::kFragment;
  Datagram datagram;
  while (outcome == DecodeOutcome::kFragment && fragments_.add(*packet, &datagram)) {
    accounting_.merged += datagram.frames - 1;
    outcome = decode(datagram, hasher_, packet);
    packet->buffer = nullptr;
  }
  count_lost_fragments();
  return outcome;
}

bool Lane::any_marked(std::span<const RawPacket> packets) const {
  return options_.first_marked_tap < taps_.size() &&
         std::any_of(packets.begin(), packets.end(), [this](const RawPacket& packet) { return is_marked(packet); });
}

// Returns true for all views of a packet but the first, which decides how the packet is counted, and passes repeated
// views to the parsers that ask for them. A marked copy from a queue is always a repeated view of a packet that is
// counted elsewhere.
bool Lane::is_repeated_view(DecodeOutcome outcome, Packet* packet) {
  if (outcome != DecodeOutcome::kOk && outcome != DecodeOutcome::kFragment) return false;
  if (packet->tap < options_.first_marked_tap && !views_->is_repeated(*packet)) return false;
  ++accounting_.repeated;
  ++taps_[packet->tap].repeated;
  if (packet->fragment ? stage_->wants_fragments() : stage_->wants_all_views()) pass_view(packet);
  return true;
}

// Passes on a packet that is counted elsewhere.
void Lane::pass_view(Packet* packet) {
  packet->repeated_view = true;
  if (packet->fragment) packet->flow_hash = hash_flow(hasher_, *packet);
  gate_.admit(packet);
  if (packet->queries != 0) ++waiting_;
  if (gate_.satisfied() != 0) end_queries(gate_.satisfied());
}

// Passes on a fragment. Returns a copy for reassembly, in the next free entry of packets_.
Packet* Lane::pass_fragment(Packet* packet) {
  const Packet fragment = *packet;
  pass_view(packet);
  packets_[waiting_] = fragment;
  return &packets_[waiting_];
}

bool Lane::is_duplicate(DecodeOutcome outcome, const Packet& packet) {
  if (outcome != DecodeOutcome::kOk && outcome != DecodeOutcome::kFragment) return false;
  if (!duplicates_->is_copy(packet)) return false;
  ++accounting_.lost[index_of(Drop::kDuplicate)];
  ++taps_[packet.tap].lost[index_of(Drop::kDuplicate)];
  // A fragment's queries are unknown, and its datagram is counted only once.
  if (outcome == DecodeOutcome::kOk) gate_.refuse(packet, Drop::kDuplicate);
  return true;
}

// Passes on all counts of the past seconds before the first packet of a new second is counted. Windows end at whole
// seconds, so their completeness then covers exactly the packets before their end, regardless of the speed at which a
// file is read.
void Lane::close_second(int64_t time_ns) {
  int64_t second_ns = time_ns / kNsPerSecond * kNsPerSecond;
  bool is_first = next_second_ns_ == INT64_MIN;
  // Losses in whole seconds without packets are reported with those seconds.
  if (!is_first && caught_up_ && second_ns > next_second_ns_) count_losses();
  next_second_ns_ = second_ns + kNsPerSecond;
  // On a capture file, this is the time since which new queries have seen all packets.
  if (unwatched_ != 0) begin_to_watch(time_ns);
  if (is_first) return;
  run_parsers();
  fragments_.expire(second_ns);
  count_lost_fragments();
  stage_->advance(second_ns);
  apply_sampling_limit();
  tick();
}

// Applies a changed limit to the queries whose rates may fall. Must be called between two seconds, when parsers that
// count per flow and second have emitted the counts at the old rate, so that each window has a single rate.
void Lane::apply_sampling_limit() {
  if (sampling_limit_.rate() == applied_limit_ && !limits_changed_) return;
  applied_limit_ = sampling_limit_.rate();
  limits_changed_ = false;
  for (uint32_t query : SetBits(gate_.active())) {
    if (!queries_[query].rate_may_fall) continue;
    stage_->set_sampling_rate(query, sampling_rate(query));
    gate_.set_sampling_rate(query, sampling_rate(query));
  }
}

void Lane::run_parsers() {
  if (waiting_ != 0) stage_->process({packets_.data(), waiting_});
  waiting_ = 0;
  fragments_.recycle();
  if (page_ != nullptr) note_parsed();
}

void Lane::note_parsed() {
  UnitPage& unit = options_.page->units[options_.index];
  for (uint32_t query : SetBits(gate_.active())) {
    unit.parsed[query] = (*accounts_)[query].packets_out;
    BatchLedger::Stream& stream = unit.ledger.streams[query];
    stream.waiting_rows_parsed = stream.waiting_rows;
  }
}

void Lane::end_queries(uint64_t queries) {
  run_parsers();
  count_losses();
  while (end_under_way_) continue_end();
  gate_.end(queries);
  ended_ |= queries;
  stage_->begin_end(queries);
  end_under_way_ = true;
  continue_end();
}

void Lane::continue_end() { end_under_way_ = !stage_->continue_end(); }

// Ends queries whose duration is over by `time_ns`, each at its last nanosecond.
void Lane::expire_at(int64_t time_ns) {
  run_parsers();
  while (gate_.next_deadline_ns() <= time_ns && gate_.next_deadline_ns() != QueryGate::kNever) {
    int64_t deadline_ns = gate_.next_deadline_ns();
    stage_->advance(deadline_ns - 1);
    end_queries(gate_.expired_at(deadline_ns));
  }
}

void Lane::idle() {
  auto time_ns = source_->idle_time_ns();
  if (!time_ns) return;
  if (reports_losses() && *time_ns >= reported_.next_ns) report_losses(*time_ns);
  expire_at(*time_ns);
  if (*time_ns >= next_second_ns_ && next_second_ns_ != INT64_MIN) close_second(*time_ns);
  fragments_.expire(*time_ns);
  count_lost_fragments();
  stage_->advance(*time_ns);
}

void Lane::note_absorbed(std::span<const RawPacket> packets, const Engine::AbsorbResult& absorbed) {
  if (taps_.size() == 1) {
    page_->burst_left[0] -= absorbed.packets;
    return;
  }
  for (uint32_t i = 0; i < absorbed.scanned; ++i) page_->burst_left[packets[i].tap] -= ~absorbed.left >> i & 1;
}

void Lane::count_absorbed(std::span<const RawPacket> packets, const Engine::AbsorbResult& absorbed) {
  const auto count = [](TapAccounting& tap, uint64_t number, uint64_t bytes) {
    tap.received += number;
    tap.passed += number;
    tap.received_bytes += bytes;
  };
  if (taps_.size() == 1) return count(taps_[0], absorbed.packets, absorbed.bytes);
  for (uint32_t i = 0; i < absorbed.scanned; ++i) {
    if ((absorbed.left >> i & 1) == 0) count(taps_[packets[i].tap], 1, packets[i].wire_bytes);
  }
}

void Lane::tick() {
  const int64_t before_ns = std::exchange(now_ns_, monotonic_ns());
  if (end_under_way_) continue_end();
  // Lost packets arrived after all packets that wait in a full queue, so the waiting packets are polled first.
  // Otherwise the loss would be reported with earlier packets. A poll before a pause of the process proves nothing, so
  // the next poll decides.
  if (now_ns_ - before_ns > kNsPerSecond) caught_up_ = false;
  if (losses_due_ && (caught_up_ || ++polls_behind_ >= kMaxPollsBehind)) {
    losses_due_ = false;
    polls_behind_ = 0;
    count_losses();
  }
  if (now_ns_ - losses_read_at_ns_ >= kReadLossesEveryNs) {
    losses_read_at_ns_ = now_ns_;
    losses_due_ = true;
    publish_progress();
    gate_.check_credits();
    if (source_->live()) {
      OutputStats backlog = stage_->backlog();
      sampling_limit_.observe(now_ns_, backlog.fill, backlog.refused);
    }
    if (gate_.satisfied() != 0) end_queries(gate_.satisfied());
  }
  stage_->tick(now_ns_);
  if (ended_ != 0 && !end_under_way_) {
    const uint64_t done = stage_->done(ended_);
    ended_ &= ~done;
    progress_.done.store(progress_.done.load(std::memory_order_relaxed) | done, std::memory_order_release);
    if (page_ != nullptr) page_->done |= done;
  }
}

}  // namespace tapline
