// One host's MultiLog node: a source of packets, the thread that captures their headers, the writers, and the log.
//
//   monitor's process ════════▶ FeedReader's rings ──┐    (header_feed.h)
//   source ─▶ HeaderCapture ─▶ RowRing… ─▶ a writer thread each ─▶ MultiLog ◀── NodeService (gRPC)
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "multilog/headers/header_feed.h"
#include "multilog/multilog.h"
#include "packet_io/source/packet_source.h"

namespace tapline::multilog {

struct NodeOptions {
  std::string name;
  uint32_t writers = 2;
  uint32_t frame_bytes = HeaderLayout::kMaxFrameBytes;
  uint32_t telemetry_hops = 0;
  // True if rows have the names of their packets' taps; `taps` are those of the source.
  bool tap_names = false;
  std::vector<Tap> taps;
  size_t memory_bytes = size_t{1} << 30;
  std::vector<std::string> indexes;
  StorageOptions storage;
  CaptureOptions capture;
  // The directory of the feed to which a monitor's process writes headers (header_feed.h); if empty, run() captures
  // them.
  std::string headers_from;
};

class HostNode {
 public:
  static Result<std::unique_ptr<HostNode>> make(const NodeOptions& options);
  ~HostNode();

  // Captures until the source ends or `stop` is set, then waits until the writers have appended all captured rows. The
  // log continues to serve queries. REQUIRES: not called before; headers_from is empty.
  void run(PacketSource* source, const std::atomic<bool>* stop);

  // Stops the writers; must precede closing the log. Rows that wait in a monitor's rings are left for the next node.
  void stop_writers();

  // Changes the capture settings. Returns kInvalid for an invalid filter.
  Status set_up_capture(const CaptureSettings& settings);

  const std::string& name() const { return name_; }
  const HeaderLayout& layout() const { return layout_; }
  MultiLog& log() { return *log_; }
  // Returns a number that increases with each start.
  uint64_t incarnation() const { return incarnation_; }
  // Returns true once run() is over, so that captured() and the log no longer change.
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // packets = rows in rings + rows that the log appended or dropped (if it was empty at the start) + sum of dropped
  CaptureTotals captured() const;

 private:
  explicit HostNode(const NodeOptions& options);
  Status start(const NodeOptions& options);
  Result<std::vector<RowRing*>> make_rings(const NodeOptions& options);
  void write(RowRing* ring, Writer* writer);

  std::string name_;
  uint64_t incarnation_;
  HeaderLayout layout_;
  std::unique_ptr<MultiLog> log_;
  std::vector<std::unique_ptr<RowRing>> rings_;
  std::unique_ptr<HeaderCapture> capture_;
  std::unique_ptr<FeedReader> feed_;
  uint64_t evicted_rows_ = 0;  // rows that earlier nodes took but this log lacks
  std::vector<std::thread> writers_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace tapline::multilog
