#include "multilog/node/node.h"

#include <time.h>

#include "multilog/node/max_seq.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

// The interval at which an idle writer polls a ring that another process fills.
constexpr long kIdleNs = 50'000;

}  // namespace

HostNode::HostNode(const NodeOptions& options)
    : name_(options.name),
      incarnation_(static_cast<uint64_t>(wall_ns())),
      layout_(options.frame_bytes, options.telemetry_hops, options.tap_names, options.taps) {}

HostNode::~HostNode() { stop_writers(); }

void HostNode::stop_writers() {
  stop_.store(true);
  for (const auto& ring : rings_) ring->wake();
  for (std::thread& writer : writers_) writer.join();
  writers_.clear();
}

Result<std::unique_ptr<HostNode>> HostNode::make(const NodeOptions& options) {
  auto node = std::unique_ptr<HostNode>(new HostNode(options));
  if (Status status = node->start(options); !status.ok()) return status;
  return node;
}

Status HostNode::start(const NodeOptions& options) {
  Options log(layout_.schema());
  log.memory_bytes = options.memory_bytes;
  log.user_functions = {{std::string(kMaxSeq), max_seq_function(layout_.schema())}};
  log.storage = options.storage;
  auto opened = MultiLog::open(std::move(log));
  if (!opened.ok()) return opened.status();
  log_ = std::move(*opened);
  const std::vector<std::string> present = log_->indexes();
  for (const std::string& field : options.indexes) {
    if (std::find(present.begin(), present.end(), field) != present.end()) continue;
    if (Status status = log_->add_index(field); !status.ok()) return status;
  }
  auto rings = make_rings(options);
  if (!rings.ok()) return rings.status();
  for (uint32_t i = 0; i < options.writers; ++i) {
    // Uses a loaded log's writers before adding others.
    Writer* writer = log_->writer(i);
    if (writer == nullptr) {
      auto added = log_->add_writer();
      if (!added.ok()) return added.status();
      writer = *added;
    }
    writers_.emplace_back([this, ring = (*rings)[i], writer] { write(ring, writer); });
  }
  return {};
}

Result<std::vector<RowRing*>> HostNode::make_rings(const NodeOptions& options) {
  std::vector<RowRing*> rings;
  if (!options.headers_from.empty()) {
    FeedSettings settings = {options.frame_bytes, options.telemetry_hops, options.tap_names, options.writers,
                             options.capture.settings()};
    auto feed = FeedReader::open(options.headers_from, std::move(settings));
    if (!feed.ok()) return feed.status();
    feed_ = std::move(*feed);
    const uint64_t loaded = log_->statistics().appended;
    evicted_rows_ = feed_->taken_before() - std::min(feed_->taken_before(), loaded);
    for (uint32_t i = 0; i < options.writers; ++i) rings.push_back(feed_->ring(i));
    return rings;
  }
  for (uint32_t i = 0; i < options.writers; ++i) {
    auto ring = RowRing::make({.row_bytes = layout_.row_bytes()});
    if (!ring.ok()) return ring.status();
    rings.push_back(ring->get());
    rings_.push_back(std::move(*ring));
  }
  auto capture = HeaderCapture::make(options.capture, &layout_, rings);
  if (!capture.ok()) return capture.status();
  capture_ = std::move(*capture);
  return rings;
}

Status HostNode::set_up_capture(const CaptureSettings& settings) {
  return feed_ != nullptr ? feed_->change(settings) : capture_->change(settings);
}

CaptureTotals HostNode::captured() const {
  if (feed_ == nullptr) {
    CaptureTotals totals;
    totals.add(capture_->counters());
    return totals;
  }
  CaptureTotals totals = feed_->totals();
  if (evicted_rows_ > 0) totals.dropped["node_restarted"] += evicted_rows_;
  return totals;
}

void HostNode::run(PacketSource* source, const std::atomic<bool>* stop) {
  capture_->run(source, stop);
  for (std::thread& writer : writers_) writer.join();
  writers_.clear();
  ended_.store(true, std::memory_order_release);
}

void HostNode::write(RowRing* ring, Writer* writer) {
  while (true) {
    uint32_t rows = 0;
    if (const uint8_t* batch = ring->front(&rows); batch != nullptr) {
      ring->take();
      writer->append(batch, rows);
      ring->pop();
      continue;
    }
    if (ring->ended() || stop_.load(std::memory_order_relaxed)) return;
    ring->await(kIdleNs);
  }
}

}  // namespace tapline::multilog
