#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parsers/api/tuple.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {

// What one flow did in one queue during an interval.
struct FlowReport {
  TupleHeader header;  // of its latest packet, wanted by the queries of all
  bool from_client = false;
  Finding finding;  // of the packet that waited longest
  int64_t delay_ns = 0;
  uint64_t packets = 0, bytes = 0;
  uint64_t waited_ns = 0, blamed_ns = 0;
  uint64_t lost = 0;  // packets that never left
  uint64_t error_bytes = 0;
};

// One queue between two taps: matches what they show, and adds up by flow what each interval brings. Not thread-safe.
class TappedQueue final : private MatchSink {
 public:
  TappedQueue(const MatchOptions& match, const ContentsOptions& contents)
      : contents_(contents, nullptr), matcher_(match, this), of_flow_(contents.max_flows + 1) {}

  void arrive(const View& view) { matcher_.arrive(view); }
  // `header` goes with the flow that the packet belongs to.
  void depart(View view, const TupleHeader& header, bool from_client) {
    if (free_headers_.empty()) {
      free_headers_.push_back(static_cast<uint32_t>(headers_.size()));
      headers_.emplace_back();
    }
    view.tag = free_headers_.back();
    free_headers_.pop_back();
    headers_[view.tag] = {header, from_client};
    matcher_.depart(view);
  }
  void finish() { matcher_.finish(); }

  // Calls report(const FlowReport&) for each flow that had packets since the last call, and begins a new interval.
  // FlowTable::kOthers, flows without room together, is left out: others() counts its packets.
  template <typename Report>
  void close_interval(int64_t now_ns, Report&& report) {
    matcher_.advance(now_ns);
    for (const uint32_t flow : active_) {
      OfFlow& own = of_flow_[flow];
      report(finished(flow, own));
      own.active = false;
      contents_.release(flow);
    }
    active_.clear();
  }

  const MatchStatistics& statistics() const { return matcher_.statistics(); }
  int64_t offset_ns() const { return matcher_.offset_ns(); }
  uint64_t others() const { return others_; }

 private:
  struct Header {
    TupleHeader header;
    bool from_client;
  };
  // The sums of waits are since the flow has its number: what earlier intervals reported is subtracted.
  struct OfFlow {
    FlowReport report;
    uint64_t waited_before_ns = 0, blamed_before_ns = 0;
    bool active = false;
  };

  void pass(const Passage& passage) override {
    const Header& header = headers_[passage.tag];
    free_headers_.push_back(passage.tag);
    const Finding found = contents_.add(passage);
    if (found.flow == FlowTable::kOthers) {
      ++others_;
      return;
    }
    OfFlow& own = of_flow_[found.flow];
    if (found.is_new) own = {};
    if (!own.active) activate(found.flow, own);
    FlowReport& report = own.report;
    const uint64_t queries = report.header.queries;
    report.header = header.header;
    report.header.queries |= queries;
    report.from_client = header.from_client;
    ++report.packets;
    report.bytes += passage.bytes;
    report.error_bytes = std::max(report.error_bytes, found.error_bytes);
    if (!passage.arrival_known || passage.delay_ns() < report.delay_ns) return;
    report.delay_ns = passage.delay_ns();
    report.finding = found;
  }

  // An arrival names its flow by the key alone. A flow of which nothing has left yet has no number: only the queue's
  // total counts its losses.
  void never_left(const View& arrival) override {
    const uint32_t flow = contents_.flows().find(arrival.flow_key);
    if (flow != FlowTable::kOthers && of_flow_[flow].active) ++of_flow_[flow].report.lost;
    contents_.lose();
  }

  void activate(uint32_t flow, OfFlow& own) {
    own.report = {};
    own.active = true;
    contents_.hold(flow);
    active_.push_back(flow);
  }

  const FlowReport& finished(uint32_t flow, OfFlow& own) {
    const uint64_t waited_ns = contents_.waits().waited_ns(flow), blamed_ns = contents_.waits().blamed_ns(flow);
    own.report.waited_ns = waited_ns - own.waited_before_ns;
    own.report.blamed_ns = blamed_ns - own.blamed_before_ns;
    own.waited_before_ns = waited_ns;
    own.blamed_before_ns = blamed_ns;
    return own.report;
  }

  QueueContents contents_;
  TapMatcher matcher_;
  std::vector<Header> headers_;  // of departures that have yet to settle, which the matcher bounds
  std::vector<uint32_t> free_headers_;
  std::vector<OfFlow> of_flow_;
  std::vector<uint32_t> active_;
  uint64_t others_ = 0;
};

}  // namespace tapline::queues
