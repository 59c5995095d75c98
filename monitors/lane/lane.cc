#include "monitors/lane/lane.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "packet_io/base/clock.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

// Reading a port's losses costs system calls.
constexpr int64_t kReadLossesEveryNs = 100'000'000;
// Limit that exceeds the packets that any queue holds.
constexpr int kMostPollsBehind = 4096;

void Sleep(int64_t duration_ns) {
  timespec duration = {0, duration_ns};
  nanosleep(&duration, nullptr);
}

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

void Lane::Add(uint32_t query) {
  stage_->AddQuery(query);
  gate_.Add(query, WallNs());
  const QuerySpec& spec = queries_[query];
  const uint64_t bit = uint64_t{1} << query;
  unwatched_ = spec.copies_unconfirmed ? unwatched_ & ~bit : unwatched_ | bit;
  unconfirmed_ = spec.copies_unconfirmed ? unconfirmed_ | bit : unconfirmed_ & ~bit;
  pipeline_limits_[query] = spec.pipeline_limit;
  if (!spec.rate_may_fall || spec.sampling_rate <= SamplingRate(query)) return;
  stage_->SetSamplingRate(query, SamplingRate(query));
  gate_.SetSamplingRate(query, SamplingRate(query));
}

// The minimum of the query's own rate, the rate this lane can sustain, and the rate the pipeline can sustain.
double Lane::SamplingRate(uint32_t query) const {
  return std::min({queries_[query].sampling_rate, applied_limit_, pipeline_limits_[query]});
}

void Lane::BeginToWatch(int64_t time_ns) {
  for (uint32_t query : SetBits(std::exchange(unwatched_, 0))) {
    stage_->SetWatchedSince(query, time_ns);
  }
}

// The first confirmation counts: a control plane that takes over sends another one.
void Lane::Mirrored(uint32_t query) {
  const uint64_t bit = uint64_t{1} << query;
  if ((unconfirmed_ & gate_.active() & bit) != 0) stage_->SetWatchedSince(query, WallNs());
  unconfirmed_ &= ~bit;
}

bool Lane::MayGoOn() const {
  return (gate_.active() != 0 || options_.stay) && !stop_->load(std::memory_order_relaxed) && stage_->status().ok();
}

Status Lane::Run() {
  Enter();
  if (source_->live() && !clock_started_) StartClock(WallNs());
  if (source_->live()) BeginToWatch(WallNs());
  std::array<RawPacket, kBurstPackets> burst;
  bool ended = false;
  while (!ended && MayGoOn()) {
    inbox_.Take([this](LaneCommand& command) { Obey(command); });
    PacketSource::Burst got = source_->Poll(burst);
    ended = got.ended;
    if (page_ != nullptr) {
      NoteBurst({burst.data(), got.packets});
      page_->polled += got.packets;
    }
    caught_up_ = got.packets < burst.size();
    Process({burst.data(), got.packets});
    if (caught_up_) empty_at_ns_ = source_->IdleTimeNs().value_or(0);
    Tick();
    if (got.packets == 0 && !ended) Idle();
    // A file that is read as fast as possible always has a next burst.
    bool may_sleep = source_->live() || got.packets == 0;
    int64_t sleep_ns = may_sleep && !ended ? pacer_.AfterPoll(got.packets, now_ns_) : 0;
    if (sleep_ns > 0 && !end_under_way_) Sleep(sleep_ns);
  }
  Status status = End();
  progress_.over.store(true, std::memory_order_release);
  return status;
}

void Lane::Enter() {
  if (page_ == nullptr) return;
  page_->thread_id.store(gettid(), std::memory_order_relaxed);
  set_call_mark(&page_->call);
  if (!options_.page->restarted()) return;
  progress_.done.store(page_->done, std::memory_order_relaxed);
  if (options_.page->clock_start_ns != INT64_MIN) StartClock(options_.page->clock_start_ns);
  // The packets that were remembered for later views are forgotten: no more of them than have passed.
  if (views_) {
    uint64_t passed = 0;
    for (const TapAccounting& tap : taps_) passed += tap.passed;
    accounting_.forgotten_views += std::min(passed, views_->capacity());
  }
  // Losses among the packets that the source skips were counted.
  if (source_->live()) return;
  losses_ = source_->ReadLosses();
  for (uint8_t tap = 0; tap < taps_seen_.size(); ++tap)
    taps_seen_[tap] = {source_->ReadLosses(tap), source_->LatePackets(tap)};
}

void Lane::StartClock(int64_t start_ns) {
  gate_.StartClock(start_ns);
  clock_started_ = true;
  if (page_ != nullptr && options_.index == 0) options_.page->clock_start_ns = start_ns;
}

Status Lane::End() {
  CountLosses();
  PublishProgress();
  if (!source_->status().ok()) return source_->status();
  if (!stage_->status().ok()) return stage_->status();
  stage_->CaptureOver();
  fragments_.clear();
  CountLostFragments();
  EndQueries(gate_.active());
  while (end_under_way_) ContinueEnd();
  Status status = stage_->Finish();
  if (status.ok() && page_ != nullptr) page_->done = ~uint64_t{0};
  return status;
}

void Lane::Obey(LaneCommand& command) {
  const uint64_t bit = uint64_t{1} << command.query;
  if (command.kind == LaneCommand::Kind::kAdd) {
    progress_.done.store(progress_.done.load(std::memory_order_relaxed) & ~bit, std::memory_order_relaxed);
    if (page_ != nullptr) page_->done &= ~bit;
    Add(command.query);
    if (source_->live()) BeginToWatch(WallNs());
  } else if (command.kind == LaneCommand::Kind::kLimit) {
    limits_changed_ |= pipeline_limits_[command.query] != command.rate;
    pipeline_limits_[command.query] = command.rate;
  } else if (command.kind == LaneCommand::Kind::kMirrored) {
    Mirrored(command.query);
  } else if (command.kind == LaneCommand::Kind::kLose) {
    LoseEverywhere(IndexOf(Drop::kMirrorLost), command.packets);
  } else if ((gate_.active() & bit) != 0) {
    EndQueries(bit);
  }
  command.Answer();
}

void Lane::Process(std::span<const RawPacket> packets) {
  while (!packets.empty() && (gate_.active() != 0 || options_.stay)) {
    packets = packets.subspan(gate_.decides_by_connection() ? ProcessSome(packets) : ProcessAll(packets));
  }
  if (page_ != nullptr) std::fill_n(page_->burst_left.begin(), taps_.size(), 0);
}

void Lane::NoteBurst(std::span<const RawPacket> packets) {
  if (taps_.size() == 1) {
    page_->burst_left[0] = packets.size();
    return;
  }
  for (const RawPacket& raw : packets) ++page_->burst_left[raw.tap];
}

size_t Lane::ProcessAll(std::span<const RawPacket> packets) {
  for (const RawPacket& raw : packets) {
    if (gate_.active() == 0 && !options_.stay) break;
    if (page_ != nullptr) --page_->burst_left[raw.tap];
    ProcessOne(raw);
  }
  RunParsers();
  return packets.size();
}

// If every query wants all packets of a connection or none, the engine takes the undecoded packets that no parser has
// to see. Returns how many packets of the burst are done.
size_t Lane::ProcessSome(std::span<const RawPacket> packets) {
  // Duplicates and repeated views can only be detected among decoded packets.
  if (duplicates_ || views_) return ProcessAll(packets);
  const int64_t end_ns = std::min(gate_.next_deadline_ns(), next_second_ns_);
  const Engine::Absorbed absorbed = stage_->Absorb(packets, gate_.unconditional(), gate_.by_endpoints(), end_ns);
  if (absorbed.scanned == 0) return ProcessAll(packets);
  accounting_.received += absorbed.packets;
  accounting_.received_bytes += absorbed.bytes;
  accounting_.matched += absorbed.packets;
  CountAbsorbed(packets, absorbed);
  for (const auto& share : absorbed.shares) gate_.AdmitUnseen(share.queries, share.packets, share.bytes);
  if (page_ != nullptr) {
    NoteAbsorbed(packets, absorbed);
    NoteParsed();
  }
  for (uint32_t packet : SetBits(absorbed.left)) {
    if (gate_.active() == 0 && !options_.stay) break;
    if (page_ != nullptr) --page_->burst_left[packets[packet].tap];
    ProcessOne(packets[packet]);
  }
  RunParsers();
  if (absorbed.packets != 0) stage_->Advance(absorbed.latest_ns);
  return absorbed.scanned;
}

void Lane::ProcessOne(const RawPacket& raw) {
  if (!clock_started_) {
    StartClock(raw.time_ns);
  }
  if (raw.time_ns >= gate_.next_deadline_ns()) {
    ExpireAt(raw.time_ns);
    if (gate_.active() == 0 && !options_.stay) return;
  }
  if (raw.time_ns >= next_second_ns_) CloseSecond(raw.time_ns);
  ++accounting_.received;
  accounting_.received_bytes += raw.wire_bytes;
  TapAccounting& tap = taps_[raw.tap];
  ++tap.received;
  tap.received_bytes += raw.wire_bytes;
  Packet& packet = packets_[waiting_];
  const DecodeOutcome outcome = decode(raw, hasher_, &packet);
  packet.buffer = raw.buffer;
  if (views_ && IsRepeatedView(outcome, &packet)) return;
  if (duplicates_ && IsDuplicate(outcome, packet)) return;
  if (outcome == DecodeOutcome::kOk) [[likely]] {
    ++tap.passed;
  } else if (!CompletePacket(outcome, &tap, &packet)) {
    return;
  }
  ++(gate_.Admit(&packet) ? accounting_.matched : accounting_.unmatched);
  if (packet.queries != 0) ++waiting_;
  if (gate_.satisfied() != 0) EndQueries(gate_.satisfied());
}

// Counts a frame that is no whole packet. Returns true if it is a fragment that completes a datagram, which replaces
// *packet.
bool Lane::CompletePacket(DecodeOutcome outcome, TapAccounting* tap, Packet* packet) {
  if (outcome == DecodeOutcome::kFragment) {
    ++tap->passed;
    outcome = Reassemble(packet);
    if (outcome == DecodeOutcome::kFragment) return false;
  } else {
    ++tap->undecodable[static_cast<int>(outcome)];
  }
  if (outcome != DecodeOutcome::kOk) LosePackets(outcome, 1, packet->wire_bytes);
  return outcome == DecodeOutcome::kOk;
}

void Lane::LosePackets(DecodeOutcome outcome, uint64_t packets, uint64_t bytes) {
  accounting_.undecodable[static_cast<int>(outcome)] += packets;
  // No query wants packets that are not IP; whether one wanted the others is unknown.
  if (outcome == DecodeOutcome::kNotIp) return;
  for (uint32_t query : SetBits(gate_.active())) {
    Accounting& account = (*accounts_)[query];
    account.LosePackets(IndexOf(outcome), packets);
    account.bytes_in += bytes;
  }
}

// Replaces *packet by the datagram that it completes, and returns that one's outcome; kFragment if it completes none. A
// datagram may itself hold a fragment of another, in a tunnel.
DecodeOutcome Lane::Reassemble(Packet* packet) {
  DecodeOutcome outcome = DecodeOutcome::kFragment;
  Datagram datagram;
  while (outcome == DecodeOutcome::kFragment && fragments_.add(*packet, &datagram)) {
    accounting_.merged += datagram.frames - 1;
    outcome = decode(datagram, hasher_, packet);
    packet->buffer = nullptr;
  }
  CountLostFragments();
  return outcome;
}

// The first view of a packet has decided its fate: what was counted of it stands.
bool Lane::IsRepeatedView(DecodeOutcome outcome, Packet* packet) {
  if (outcome != DecodeOutcome::kOk && outcome != DecodeOutcome::kFragment) return false;
  if (!views_->is_repeated(*packet)) return false;
  ++accounting_.repeated;
  ++taps_[packet->tap].repeated;
  if (outcome != DecodeOutcome::kOk || !stage_->wants_all_views()) return true;
  packet->repeated_view = true;
  gate_.AdmitView(packet);
  if (packet->queries != 0) ++waiting_;
  return true;
}

bool Lane::IsDuplicate(DecodeOutcome outcome, const Packet& packet) {
  if (outcome != DecodeOutcome::kOk && outcome != DecodeOutcome::kFragment) return false;
  if (!duplicates_->is_copy(packet)) return false;
  ++accounting_.lost[IndexOf(Drop::kDuplicate)];
  ++taps_[packet.tap].lost[IndexOf(Drop::kDuplicate)];
  // The query of a fragment is unknown, and its datagram counts once.
  if (outcome == DecodeOutcome::kOk) gate_.Refuse(packet, Drop::kDuplicate);
  return true;
}

void Lane::CountLostFragments() {
  const FragmentTable::Losses& now = fragments_.losses();
  accounting_.held = fragments_.held_frames();
  if (now.frames == lost_fragments_.frames) return;
  LosePackets(DecodeOutcome::kFragment, now.frames - lost_fragments_.frames, now.bytes - lost_fragments_.bytes);
  lost_fragments_ = now;
}

// Passes on everything of the past seconds before the first packet of a new one is counted. Windows end at whole
// seconds, so their completeness then covers just the packets before their end, at whatever speed a file is read.
void Lane::CloseSecond(int64_t time_ns) {
  int64_t second_ns = time_ns / kNsPerSecond * kNsPerSecond;
  bool first = next_second_ns_ == INT64_MIN;
  // Losses in whole seconds without packets are reported with those seconds.
  if (!first && caught_up_ && second_ns > next_second_ns_) CountLosses();
  next_second_ns_ = second_ns + kNsPerSecond;
  // Queries on a capture file watch from the next packet on.
  if (unwatched_ != 0) BeginToWatch(time_ns);
  if (first) return;
  RunParsers();
  fragments_.expire(second_ns);
  CountLostFragments();
  stage_->Advance(second_ns);
  ApplySamplingLimit();
  Tick();
}

// Applied only between two seconds: parsers that count per flow and second have then emitted the counts at the old
// rate, and no window is cut. A query with a fixed rate keeps it.
void Lane::ApplySamplingLimit() {
  if (sampling_limit_.rate() == applied_limit_ && !limits_changed_) return;
  applied_limit_ = sampling_limit_.rate();
  limits_changed_ = false;
  for (uint32_t query : SetBits(gate_.active())) {
    if (!queries_[query].rate_may_fall) continue;
    stage_->SetSamplingRate(query, SamplingRate(query));
    gate_.SetSamplingRate(query, SamplingRate(query));
  }
}

void Lane::RunParsers() {
  if (waiting_ != 0) stage_->Process({packets_.data(), waiting_});
  waiting_ = 0;
  fragments_.recycle();
  if (page_ != nullptr) NoteParsed();
}

void Lane::NoteParsed() {
  UnitPage& unit = options_.page->units[options_.index];
  for (uint32_t query : SetBits(gate_.active())) {
    unit.parsed[query] = (*accounts_)[query].packets_out;
    BatchLedger::Stream& stream = unit.ledger.streams[query];
    stream.waiting_rows_parsed = stream.waiting_rows;
  }
}

void Lane::LoseEverywhere(int reason, uint64_t packets) {
  accounting_.received += packets;
  accounting_.lost[reason] += packets;
  for (uint32_t query : SetBits(gate_.active())) {
    (*accounts_)[query].LosePackets(reason, packets);
  }
}

// Counts the packets that arrived, according to the supervisor, while no process listened.
void Lane::CountMissed() {
  if (page_ == nullptr || options_.index != 0) return;
  const uint64_t missed = options_.page->missed.exchange(0);
  if (missed > 0) LoseEverywhere(IndexOf(Drop::kMonitorRestarted), missed);
}

void Lane::EndQueries(uint64_t queries) {
  RunParsers();
  CountLosses();
  while (end_under_way_) ContinueEnd();
  gate_.End(queries);
  ended_ |= queries;
  stage_->BeginEnd(queries);
  end_under_way_ = true;
  ContinueEnd();
}

void Lane::ContinueEnd() { end_under_way_ = !stage_->ContinueEnd(); }

// Ends queries whose duration is over by `time_ns`, each at its last nanosecond.
void Lane::ExpireAt(int64_t time_ns) {
  RunParsers();
  while (gate_.next_deadline_ns() <= time_ns && gate_.next_deadline_ns() != QueryGate::kNever) {
    int64_t deadline_ns = gate_.next_deadline_ns();
    stage_->Advance(deadline_ns - 1);
    EndQueries(gate_.ExpiredAt(deadline_ns));
  }
}

void Lane::Idle() {
  auto time_ns = source_->IdleTimeNs();
  if (!time_ns) return;
  ExpireAt(*time_ns);
  if (*time_ns >= next_second_ns_ && next_second_ns_ != INT64_MIN) CloseSecond(*time_ns);
  fragments_.expire(*time_ns);
  CountLostFragments();
  stage_->Advance(*time_ns);
}

void Lane::CountLosses() {
  const PacketSource::Losses now = CountTapLosses();
  for (int i = 0; i < kOwnDrops; ++i) {
    uint64_t more = now.by_drop[i] - losses_.by_drop[i];
    if (more > 0) LoseEverywhere(i, more);
  }
  CountMissed();
  uint64_t unsupported = now.unsupported_link - losses_.unsupported_link;
  accounting_.received += unsupported;
  accounting_.undecodable[static_cast<int>(DecodeOutcome::kUnsupportedLink)] += unsupported;
  for (uint32_t query : SetBits(unsupported == 0 ? 0 : gate_.active())) {
    (*accounts_)[query].LosePackets(IndexOf(DecodeOutcome::kUnsupportedLink), unsupported);
  }
  losses_ = now;
  if (!views_) return;
  const uint64_t forgotten = views_->forgotten_early();
  accounting_.forgotten_views += forgotten - std::exchange(forgotten_views_, forgotten);
}

// Returns the losses of all taps. Packets that a switch or the supervisor reports as lost belong to no tap.
PacketSource::Losses Lane::CountTapLosses() {
  PacketSource::Losses all;
  for (uint8_t i = 0; i < taps_.size(); ++i) {
    const TapSeen now = {source_->ReadLosses(i), source_->LatePackets(i)};
    const PacketSource::Losses more = now.losses - taps_seen_[i].losses;
    TapAccounting& tap = taps_[i];
    tap.late += now.late - taps_seen_[i].late;
    for (int drop = 0; drop < kOwnDrops; ++drop) {
      tap.received += more.by_drop[drop];
      tap.lost[drop] += more.by_drop[drop];
    }
    tap.received += more.unsupported_link;
    tap.undecodable[static_cast<int>(DecodeOutcome::kUnsupportedLink)] += more.unsupported_link;
    taps_seen_[i] = now;
    all += now.losses;
  }
  return all;
}

void Lane::NoteAbsorbed(std::span<const RawPacket> packets, const Engine::Absorbed& absorbed) {
  if (taps_.size() == 1) {
    page_->burst_left[0] -= absorbed.packets;
    return;
  }
  for (uint32_t i = 0; i < absorbed.scanned; ++i) page_->burst_left[packets[i].tap] -= ~absorbed.left >> i & 1;
}

void Lane::CountAbsorbed(std::span<const RawPacket> packets, const Engine::Absorbed& absorbed) {
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

void Lane::PublishProgress() {
  progress_.packets.store(accounting_.received, std::memory_order_relaxed);
  progress_.bytes.store(accounting_.received_bytes, std::memory_order_relaxed);
  progress_.fraction.store(source_->Fraction().value_or(-1), std::memory_order_relaxed);
  published_.Update([this](LaneAccounting* copy) { *copy = accounting_; });
  published_taps_.Update([this](std::vector<TapAccounting>* copy) { copy->assign(taps_.begin(), taps_.end()); });
  progress_.arrived.Update([this](LaneProgress::Arrived* arrived) {
    *arrived = {accounting_.received - accounting_.lost[IndexOf(Drop::kMirrorLost)],
                accounting_.undecodable[static_cast<int>(DecodeOutcome::kNotIp)], empty_at_ns_};
  });
}

void Lane::Tick() {
  const int64_t before_ns = std::exchange(now_ns_, MonotonicNs());
  if (end_under_way_) ContinueEnd();
  // Lost packets came after all packets that wait in a full queue, so these are taken first: otherwise the loss would
  // be reported with earlier packets. A poll from before the process was paused proves nothing, so the next one
  // decides.
  if (now_ns_ - before_ns > kNsPerSecond) caught_up_ = false;
  if (losses_due_ && (caught_up_ || ++polls_behind_ >= kMostPollsBehind)) {
    losses_due_ = false;
    polls_behind_ = 0;
    CountLosses();
  }
  if (now_ns_ - losses_read_at_ns_ >= kReadLossesEveryNs) {
    losses_read_at_ns_ = now_ns_;
    losses_due_ = true;
    PublishProgress();
    gate_.LookAtCredits();
    if (source_->live()) {
      OutputStats backlog = stage_->backlog();
      sampling_limit_.Observe(now_ns_, backlog.fill, backlog.refused);
    }
    if (gate_.satisfied() != 0) EndQueries(gate_.satisfied());
  }
  stage_->Tick(now_ns_);
  if (ended_ != 0 && !end_under_way_) {
    const uint64_t done = stage_->Done(ended_);
    ended_ &= ~done;
    progress_.done.store(progress_.done.load(std::memory_order_relaxed) | done, std::memory_order_release);
    if (page_ != nullptr) page_->done |= done;
  }
}

}  // namespace tapline
