#include "parsers/queues/queue_contents.h"

#include <algorithm>
#include <cstddef>

namespace tapline::queues {
namespace {

using Flows = std::vector<Burst::Flow>;

Flows::iterator at_most(Flows& flows, size_t count) {
  return flows.begin() + static_cast<ptrdiff_t>(std::min(count, flows.size()));
}

// Keeps the largest culprits and the flows that waited longest in total, in order of their direct bytes.
void select_flows(Flows& flows) {
  const auto causes_more = [](const Burst::Flow& a, const Burst::Flow& b) { return a.bytes.direct > b.bytes.direct; };
  const auto waited_more = [](const Burst::Flow& a, const Burst::Flow& b) { return a.waits.sum_ns > b.waits.sum_ns; };
  const auto is_main = [](const Burst::Flow& flow) { return flow.is_main; };
  const auto mark = [](auto begin, auto end) {
    std::for_each(begin, end, [](Burst::Flow& flow) { flow.is_main = true; });
  };
  std::partial_sort(flows.begin(), at_most(flows, Burst::kMaxMain), flows.end(), causes_more);
  mark(flows.begin(), at_most(flows, Burst::kMaxMain));
  std::partial_sort(at_most(flows, Burst::kMaxMain), at_most(flows, 2 * Burst::kMaxMain), flows.end(), waited_more);
  mark(at_most(flows, Burst::kMaxMain), at_most(flows, 2 * Burst::kMaxMain));
  std::sort(flows.begin(), flows.end(), causes_more);
  const auto others = std::stable_partition(at_most(flows, Burst::kMaxCulprits), flows.end(), is_main);
  flows.erase(others, flows.end());
}

}  // namespace

QueueContents::QueueContents(const ContentsOptions& options, BurstSink* bursts)
    : options_(options),
      bursts_(bursts),
      flows_(options.max_flows),
      log_(options.max_packets),
      max_delay_(std::max<int64_t>(options.across_classes_decay_ns, 1)),
      is_simple_(bursts == nullptr && options.across_classes_decay_ns <= 0 && !bounds_missing()),
      cut_until_ns_(options.incomplete && !bounds_missing() ? INT64_MAX : INT64_MIN) {}

void QueueContents::finish() {
  if (bursts_ == nullptr) return;
  close_period();
}

// Drops departures that neither the packet about to be added nor any later one can have waited for. If the log is still
// full, evicts the oldest departure. REQUIRES: the packet found no departure before from_ns.
void QueueContents::make_room(int64_t from_ns) {
  const uint64_t needed =
      separate_waits() ? std::min(window_.range().begin(), waits_range_.begin()) : window_.range().begin();
  while (log_.first() < needed && log_[log_.first()].time_ns < from_ns - options_.reordering_ns) {
    flows_.release(log_[log_.first()].flow);
    log_.pop_front();
  }
  if (log_.room() == 0) evict_first();
  flows_.age();
  room_until_ = log_.end() + std::min<uint64_t>({kTrimEvery, log_.room(), std::max(flows_.room(), 1u)});
}

void QueueContents::evict_first() {
  window_.evict_first(log_, flows_, [this](QueueFlow& flow, const Departure& departure, int64_t service_ns) {
    left<false>(flow, departure, service_ns);
  });
  if (separate_waits())
    waits_range_.evict_first(log_, [this](const Departure& departure, int64_t service_ns) {
      waits_.left(flows_[departure.flow], service_ns);
    });
  const Departure& oldest = log_[log_.first()];
  cut_until_ns_ = std::max(cut_until_ns_, oldest.time_ns);
  ++evicted_;
  hold_period_flows();
  flows_.release(oldest.flow);
  log_.pop_front();
}

// Returns the maximum number of bytes that the link sends in this time, plus the longest packet's length, because
// part of the first packet may have been sent before.
uint64_t QueueContents::most_sent(int64_t time_ns) const {
  const double bytes_per_ns = static_cast<double>(options_.link_bits_per_second) / 8e9;
  return static_cast<uint64_t>(static_cast<double>(time_ns) * bytes_per_ns) + longest_packet_bytes_;
}

// Begins a busy period if the packet found the queue empty. REQUIRES: the packet's wait has not been charged to any
// flow yet.
void QueueContents::begin_passage(const Passage& passage, uint32_t flow) {
  if (window_.packets() == 0 && passage.arrival_known) {
    close_period();
    period_.restart(log_[log_.end() - 1].bytes_before);
    burst_.begin_ns = passage.arrival_ns;
  }
  if (passage.arrival_known) period_.join(flow);
  hold_period_flows();
}

void QueueContents::follow_period(const Passage& passage, uint32_t flow) {
  burst_.end_ns = passage.departure_ns;
  ++burst_.packets;
  burst_.bytes += passage.bytes;
  if (passage.arrival_known) {
    const uint64_t found_bytes = window_.bytes(log_);
    const int64_t delay_ns = passage.delay_ns();
    burst_.max_delay_ns = std::max(burst_.max_delay_ns, delay_ns);
    burst_.peak_bytes = std::max(burst_.peak_bytes, found_bytes + passage.bytes);
    period_.arrive(flow, passage.bytes, found_bytes, delay_ns, delay_ns >= options_.victim_delay_ns);
  }
  hold_period_flows();
}

void QueueContents::close_period() {
  hold_period_flows();
  burst_.victims = period_.victims();
  if (burst_.victims > 0) {
    burst_.flows = static_cast<uint32_t>(period_.flows().size());
    for (size_t i = 0; i < period_.flows().size(); ++i) {
      const uint32_t flow = period_.flows()[i];
      const BusyPeriod::Culprit bytes = period_.culprit(flow);
      const uint64_t blamed_ns = waits_.blamed_ns(flows_[flow]) - blamed_before_ns_[i];
      burst_.reported.push_back({flows_[flow].key, flow, bytes, period_.waits(flow), blamed_ns, false});
      burst_.all.direct += bytes.direct;
      burst_.all.indirect += bytes.indirect;
      burst_.all.original += bytes.original;
    }
    select_flows(burst_.reported);
    bursts_->burst(burst_);
  }
  for (const uint32_t flow : period_.flows()) flows_.release(flow);
  blamed_before_ns_.clear();
  period_.restart(log_.empty() ? 0 : log_[log_.end() - 1].bytes_before);
  burst_ = {};
}

// Adds references to the period's new flows, so that each keeps its number until its sums are reported, and records
// their blame so far.
void QueueContents::hold_period_flows() {
  while (blamed_before_ns_.size() < period_.flows().size()) {
    const uint32_t flow = period_.flows()[blamed_before_ns_.size()];
    flows_.add_reference(flow);
    blamed_before_ns_.push_back(waits_.blamed_ns(flows_[flow]));
  }
}

uint32_t QueueContents::record_any(const Passage& passage) { return record_as<false>(passage); }

}  // namespace tapline::queues
