// Headers from a monitor's process to a node's, through files that both map, in a directory of a tmpfs:
//
//   settings      by the node, as text, replaced whole: how rows look, what is to be captured
//   ring-0 …      rows, a ring for each writer of the node
//   counters      by the monitor: what became of every packet that it saw
//   node, monitor locked by whoever is one; the kernel lets go of what a dead process had locked
//
//   packets = rows taken by nodes + rows in the rings + sum of dropped
//
// Either side may die and be started anew: the rings stay, and so do the counters. What a dead monitor had in its hands
// is counted when the next one joins ("monitor_restarted"), what a dead node had taken and its log no longer has when
// the next one opens ("node_restarted").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "multilog/headers/header_capture.h"

namespace tapline::multilog {

struct FeedSettings {
  static constexpr uint32_t kMostRings = 64;

  uint32_t frame_bytes = HeaderLayout::kMostFrameBytes;
  uint32_t telemetry_hops = 0;
  uint32_t rings = 1;
  CaptureSettings capture = {};
  // Of the rings: another one, other files.
  uint64_t generation = 0;

  std::string ToText() const;
  static Result<FeedSettings> FromText(const std::string& text);
  bool operator==(const FeedSettings&) const = default;
};

// By the lanes of the monitor.
struct FeedCounters {
  std::atomic<uint64_t> magic;
  std::array<CaptureCounters, FeedSettings::kMostRings> lanes;
};

struct CaptureTotals {
  uint64_t packets = 0;
  std::map<std::string, uint64_t> dropped;

  void Add(const CaptureCounters& counters);
};

// A file that this process alone has locked, until this is destroyed or the process ends.
class FileLock {
 public:
  // kInUse if another process has.
  static Result<FileLock> Take(const std::string& path);
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// The node's side. Rings are each for one thread, the rest for any.
class FeedReader {
 public:
  // Goes on with what a node before left there, if it had the same rows and as many rings; makes the directory if it is
  // not there. kInUse if another node has it.
  static Result<std::unique_ptr<FeedReader>> Open(const std::string& directory, FeedSettings settings);

  RowRing* ring(uint32_t number) { return rings_[number].get(); }
  // What the monitors counted, since the rings were made.
  CaptureTotals totals() const;
  // Rows that nodes before this one took.
  uint64_t taken_before() const { return taken_before_; }
  Status Change(const CaptureSettings& capture);

 private:
  FeedReader(std::string directory, FeedSettings settings, FileLock lock)
      : directory_(std::move(directory)), settings_(std::move(settings)), lock_(std::move(lock)) {}
  bool Resume();
  Status Begin();
  Status WriteSettings() const;

  std::string directory_;
  FeedSettings settings_;
  FileLock lock_;
  std::vector<std::unique_ptr<RowRing>> rings_;
  std::shared_ptr<FeedCounters> counters_;
  uint64_t taken_before_ = 0;
};

// The monitor's side. One thread's.
class FeedWriter {
 public:
  // kNotFound while no node has opened it, kInUse if another monitor has it, kInvalid if the node has fewer rings than
  // this monitor has lanes.
  static Result<std::unique_ptr<FeedWriter>> Join(const std::string& directory, uint32_t lanes,
                                                  const HashKey& hash_key);

  // A lane's capture into its share of the rings; the lane's thread uses it. REQUIRES: this outlives it.
  HeaderCapture* capture(uint32_t lane) { return captures_[lane].get(); }
  // Looks whether the node wants something else, and sees to it. False: it has other rings, so join anew.
  bool Follow();

 private:
  FeedWriter(std::string directory, const FeedSettings& settings, FileLock lock)
      : directory_(std::move(directory)),
        settings_(settings),
        layout_(settings.frame_bytes, settings.telemetry_hops),
        lock_(std::move(lock)) {}
  Status Attach(uint32_t lanes, const HashKey& hash_key);
  void CountWhatDied();

  std::string directory_;
  FeedSettings settings_;
  HeaderLayout layout_;
  FileLock lock_;
  std::vector<std::unique_ptr<RowRing>> rings_;
  std::shared_ptr<FeedCounters> counters_;
  std::vector<std::unique_ptr<HeaderCapture>> captures_;
};

}  // namespace tapline::multilog
