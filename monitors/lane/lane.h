// One polling thread: packets from a source, through decoding and matching, to a stage that parses them. Works on
// bursts. A process may have several lanes; they share nothing that changes but the credits of LIMIT Np.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packet_io/accounting/accounting.h"
#include "packet_io/base/status.h"
#include "monitors/lane/lane_inbox.h"
#include "packet_io/source/pacer.h"
#include "monitors/lane/packet_stage.h"
#include "monitors/lane/published.h"
#include "monitors/lane/query_gate.h"
#include "monitors/lane/sampling_limit.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "packet_io/source/packet_source.h"
#include "monitors/supervisor/monitor_page.h"
#include "parsers/api/flow_hash.h"
#include "parsers/decode/duplicate_filter.h"
#include "parsers/decode/fragment_table.h"

namespace tapline {

struct LaneOptions {
  bool busy = false;
  bool drop_duplicates = false;
  // Goes on when no query is left: more may be added.
  bool stay = false;
  HashKey hash_key;
  // Which lane it is of those that share a page with their supervisor, if there is one: what a dead lane left there is
  // gone on with.
  uint32_t index = 0;
  MonitorPage* page = nullptr;
};

// For other threads to read while the lane runs.
struct LaneProgress {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
  // Below 0: not known.
  std::atomic<double> fraction{-1};
  // Of a live link, the packets that came until a moment (wall clock): all of them, since none was waiting then. To be
  // read together, so under the mutex.
  struct Arrived {
    uint64_t packets = 0;
    uint64_t not_ip = 0;  // of these
    int64_t until_ns = 0;
  };
  Published<Arrived> arrived;
  // Queries that had ended, one way or another, and of which nothing is left in this lane: bits as in Packet::queries.
  std::atomic<uint64_t> done{0};
  // Run() has returned, or will without looking at its inbox again.
  std::atomic<bool> over{false};
};

class Lane {
 public:
  // All outlive the lane. `source` and `stage` are started; `queries` are places, and `accounts` has as many entries.
  // Setting `stop` ends Run() soon.
  Lane(const LaneOptions& options, std::span<const QuerySpec> queries, PacketSource* source, PacketStage* stage,
       QueryAccounts* accounts, PacketCredits* credits, const std::atomic<bool>* stop);

  // A query from the start. Before Run().
  void Add(uint32_t query);
  // While Run() runs, queries come and go through here.
  LaneInbox& inbox() { return inbox_; }

  // Until the source ends, every query has reached its limit, or it is told to stop. Then everything is flushed, and
  // the end of each query sent. Fails if the source or the output failed.
  Status Run();

  const LaneAccounting& accounting() const { return accounting_; }
  const LaneProgress& progress() const { return progress_; }
  // Any thread: the accounting as of a tenth of a second ago, or of the end.
  LaneAccounting published() const { return published_.Get(); }

 private:
  bool MayGoOn() const;
  Status End();
  void Process(std::span<const RawPacket> packets);
  size_t ProcessAll(std::span<const RawPacket> packets);
  size_t ProcessSome(std::span<const RawPacket> packets);
  void ProcessOne(const RawPacket& raw);
  void LosePackets(DecodeOutcome outcome, uint64_t packets, uint64_t bytes);
  DecodeOutcome Reassemble(Packet* packet);
  bool IsDuplicate(DecodeOutcome outcome, const Packet& packet);
  void CountLostFragments();
  void CloseSecond(int64_t time_ns);
  void ApplySamplingLimit();
  double SamplingRate(uint32_t query) const;
  void BeginToWatch(int64_t time_ns);
  void Mirrored(uint32_t query);
  void RunParsers();
  void Obey(LaneCommand& command);
  void EndQueries(uint64_t queries);
  void ContinueEnd();
  void ExpireAt(int64_t time_ns);
  void Idle();
  void CountLosses();
  void Enter();
  void StartClock(int64_t start_ns);
  void CountMissed();
  void LoseEverywhere(int reason, uint64_t packets);
  void NoteParsed();
  void PublishProgress();
  void Tick();

  LaneOptions options_;
  PacketSource* source_;
  PacketStage* stage_;
  QueryAccounts* accounts_;
  const std::atomic<bool>* stop_;
  LaneInbox inbox_;
  std::span<const QuerySpec> queries_;
  QueryGate gate_;
  SamplingLimit sampling_limit_;
  double applied_limit_ = 1;
  std::array<double, kMostQueries> pipeline_limits_;  // by query: what kLimit has said
  bool limits_changed_ = false;
  uint64_t unwatched_ = 0;    // queries that were added and see their packets from the next moment on
  uint64_t unconfirmed_ = 0;  // queries of which switches may not copy all packets yet
  uint64_t ended_ = 0;        // queries whose end was told to the stage, until they are done
  bool end_under_way_ = false;
  FlowHasher hasher_;
  FragmentTable fragments_;
  FragmentTable::Losses lost_fragments_;       // of fragments_, as far as they are in accounting_
  std::optional<DuplicateFilter> duplicates_;  // where they are dropped
  Pacer pacer_;
  bool clock_started_ = false;
  int64_t next_second_ns_ = INT64_MIN;  // packet time at which the second of the latest packet is over
  int64_t now_ns_ = 0;                  // monotonic, as of the last Tick()
  int64_t losses_read_at_ns_ = 0;
  int64_t empty_at_ns_ = 0;  // wall clock: what came before has been polled
  bool losses_due_ = false;
  bool caught_up_ = false;
  int polls_behind_ = 0;
  PacketSource::Losses losses_;
  // Decoded and wanted packets that the parsers have not seen yet.
  std::array<Packet, kBurstPackets> packets_;
  size_t waiting_ = 0;
  LaneAccounting own_accounting_;
  LanePage* page_;  // null without a supervisor
  LaneAccounting& accounting_;
  LaneProgress progress_;
  Published<LaneAccounting> published_;
};

}  // namespace tapline
