// One polling thread. Takes bursts of packets from a source, decodes and matches them, and passes them to a stage that
// parses them. A process may have several lanes. Only the credits of LIMIT Np and the counts of triggers
// (SharedTriggers) are modified by more than one of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "monitors/lane/lane_inbox.h"
#include "monitors/lane/packet_stage.h"
#include "monitors/lane/published.h"
#include "monitors/lane/query_gate.h"
#include "monitors/lane/sampling_limit.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "monitors/supervisor/monitor_page.h"
#include "packet_io/accounting/accounting.h"
#include "packet_io/base/status.h"
#include "packet_io/base/tap.h"
#include "packet_io/source/pacer.h"
#include "packet_io/source/packet_source.h"
#include "parsers/api/flow_hash.h"
#include "parsers/decode/duplicate_filter.h"
#include "parsers/decode/fragment_table.h"
#include "parsers/decode/view_filter.h"

namespace tapline {

struct LaneOptions {
  bool busy = false;
  bool drop_duplicates = false;
  // True if the lane keeps running without queries, since more may be added.
  bool stay = false;
  // Number of taps of the source.
  uint8_t taps = 1;
  // Number of the first tap that shows copies from queues; only queries on these queues want the copies.
  uint8_t first_marked_tap = kMaxTaps;
  // If set, a packet that several taps show is counted once.
  std::optional<ViewOptions> views = {};
  HashKey hash_key = {};
  // The lane's index in the page that it shares with its supervisor, if there is one. The lane resumes from the state
  // that a crashed lane left there.
  uint32_t index = 0;
  MonitorPage* page = nullptr;
};

// The lane's progress, which other threads may read while the lane runs.
struct LaneProgress {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
  // The completed share of the input; negative if unknown.
  std::atomic<double> fraction{-1};
  // For live sources: the number of packets that arrived up to `until_ns` (wall clock). The count is complete, since no
  // packet was waiting at that time. The fields must be read together, hence under a mutex.
  struct Arrived {
    uint64_t packets = 0;
    uint64_t not_ip = 0;  // received packets that are not IP
    int64_t until_ns = 0;
  };
  Published<Arrived> arrived;
  // Queries that have ended, for any reason, and have no data left in this lane, as bits like those in Packet::queries.
  std::atomic<uint64_t> done{0};
  // True if run() has returned, or will return without reading its inbox again.
  std::atomic<bool> over{false};
};

class Lane {
 public:
  // All arguments must outlive the lane. `source` and `stage` must be started before run(). `queries` are the query
  // slots, and `accounts` has one entry for each. run() returns soon after `stop` is set.
  Lane(const LaneOptions& options, std::span<const QuerySpec> queries, PacketSource* source, PacketStage* stage,
       QueryAccounts* accounts, PacketCredits* credits, const std::atomic<bool>* stop);

  // Adds a query that is present from the start. REQUIRES: run() has not been called.
  void add(uint32_t query);
  // Returns the inbox. Commands that are posted to it, such as adding a query, are executed while run() is running.
  LaneInbox& inbox() { return inbox_; }

  // Runs until the source ends, `stop` is set or, unless LaneOptions::stay is true, every query has ended. Then flushes
  // all output and ends each query's stream. Fails if the source or the output fails.
  Status run();

  const LaneAccounting& accounting() const { return accounting_; }
  const LaneProgress& progress() const { return progress_; }
  // Any thread: returns the accounting as of at most a tenth of a second ago, or the final one.
  LaneAccounting published() const { return published_.get(); }
  std::vector<TapAccounting> published_taps() const { return published_taps_.get(); }
  // Returns each tap's accounting. REQUIRES: run() has returned.
  std::span<const TapAccounting> taps() const { return taps_; }

 private:
  bool may_continue() const;
  Status end();
  void process(std::span<const RawPacket> packets);
  size_t process_all(std::span<const RawPacket> packets);
  size_t process_some(std::span<const RawPacket> packets);
  void process_one(const RawPacket& raw);
  bool is_marked(const RawPacket& packet) const { return packet.tap >= options_.first_marked_tap; }
  bool any_marked(std::span<const RawPacket> packets) const;
  bool complete_packet(DecodeOutcome outcome, TapAccounting* tap, Packet* packet);
  void lose_packets(DecodeOutcome outcome, uint64_t packets, uint64_t bytes);
  DecodeOutcome reassemble(Packet* packet);
  bool is_repeated_view(DecodeOutcome outcome, Packet* packet);
  void pass_view(Packet* packet);
  Packet* pass_fragment(Packet* packet);
  bool is_duplicate(DecodeOutcome outcome, const Packet& packet);
  void count_lost_fragments();
  void close_second(int64_t time_ns);
  void apply_sampling_limit();
  double sampling_rate(uint32_t query) const;
  void begin_to_watch(int64_t time_ns);
  void mirrored(uint32_t query);
  void run_parsers();
  void execute(LaneCommand& command);
  void end_queries(uint64_t queries);
  void continue_end();
  void expire_at(int64_t time_ns);
  void idle();
  void count_losses();
  PacketSource::Losses count_tap_losses();
  void note_burst(std::span<const RawPacket> packets);
  void note_absorbed(std::span<const RawPacket> packets, const Engine::AbsorbResult& absorbed);
  void count_absorbed(std::span<const RawPacket> packets, const Engine::AbsorbResult& absorbed);
  void enter();
  void start_clock(int64_t start_ns);
  void count_missed();
  void lose_everywhere(int reason, uint64_t packets);
  bool reports_losses();
  void report_losses(int64_t time_ns);
  void note_parsed();
  void publish_progress();
  void tick();

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
  std::array<double, kMaxQueries> pipeline_limits_;  // by query, as last set by kLimit
  bool limits_changed_ = false;
  uint64_t unwatched_ = 0;    // added queries whose watched-since time is not set yet
  uint64_t unconfirmed_ = 0;  // queries whose packets switches might not copy completely yet
  uint64_t ended_ = 0;        // queries whose end was passed to the stage, until they are done
  bool end_under_way_ = false;
  FlowHasher hasher_;
  FragmentTable fragments_;
  FragmentTable::Losses lost_fragments_;       // losses in fragments_ that are already in accounting_
  std::optional<DuplicateFilter> duplicates_;  // set if duplicates are dropped
  std::optional<ViewFilter> views_;            // set if repeated views are found
  Pacer pacer_;
  bool clock_started_ = false;
  int64_t next_second_ns_ = INT64_MIN;  // packet time at which the latest packet's second ends
  int64_t now_ns_ = 0;                  // monotonic, as of the last tick()
  int64_t losses_read_at_ns_ = 0;
  int64_t empty_at_ns_ = 0;  // wall-clock time; all packets that arrived earlier have been polled
  bool losses_due_ = false;
  bool caught_up_ = false;
  int polls_behind_ = 0;
  PacketSource::Losses losses_;
  // The source's counts per tap that are already in taps_.
  struct TapSeen {
    PacketSource::Losses losses;
    uint64_t late = 0;
  };
  std::vector<TapSeen> taps_seen_;
  // The report to the stage: the source's losses up to `since_ns` that are already in it, and when the next one is due.
  struct Reported {
    uint64_t packets = 0;
    int64_t since_ns = 0;  // wall-clock time, or packet time of a capture file
    int64_t next_ns = INT64_MIN;
  } reported_;
  uint64_t forgotten_views_ = 0;  // forgotten views that are already in accounting_
  // Decoded and wanted packets that the parsers have not seen yet, with room for a datagram behind each fragment.
  std::array<Packet, 2 * kBurstPackets> packets_;
  size_t waiting_ = 0;
  LaneAccounting own_accounting_;
  LanePage* page_;  // null without a supervisor
  LaneAccounting& accounting_;
  std::vector<TapAccounting> own_taps_;
  std::span<TapAccounting> taps_;
  LaneProgress progress_;
  Published<LaneAccounting> published_;
  Published<std::vector<TapAccounting>> published_taps_;
};

}  // namespace tapline
