// Passes headers from a monitor's process to a node's process, through files in a tmpfs directory that both map:
//
//   settings      written by the node as text, replaced atomically: the rows' layout and the capture settings
//   ring-0 …      rows, one ring per writer of the node
//   counters      written by the monitor: the outcome of every packet that it saw
//   node, monitor locked by the process in that role; the kernel releases the locks of a dead process
//
//   packets = rows taken by nodes + rows in the rings + sum of dropped
//
// Either side may die and be restarted: the rings and the counters remain. Packets that a dead monitor was processing
// are counted when the next monitor joins ("monitor_restarted"). Rows that a dead node had taken but that its log has
// lost are counted when the next node opens the directory ("node_restarted").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "multilog/headers/header_capture.h"

namespace tapline::multilog {

struct FeedSettings {
  static constexpr uint32_t kMaxRings = 64;

  uint32_t frame_bytes = HeaderLayout::kMaxFrameBytes;
  uint32_t telemetry_hops = 0;
  bool tap_names = false;
  uint32_t rings = 1;
  CaptureSettings capture = {};
  // The generation of the rings; each generation has new files.
  uint64_t generation = 0;

  std::string to_text() const;
  static Result<FeedSettings> from_text(const std::string& text);
  bool operator==(const FeedSettings&) const = default;
};

// The counters that the monitor's lanes write.
struct FeedCounters {
  std::atomic<uint64_t> magic;
  std::array<CaptureCounters, FeedSettings::kMaxRings> lanes;
};

struct CaptureTotals {
  uint64_t packets = 0;
  std::map<std::string, uint64_t> dropped;

  void add(const CaptureCounters& counters);
};

// An exclusive file lock, held until the object is destroyed or the process ends.
class FileLock {
 public:
  // Returns kInUse if another process holds the lock.
  static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// The node's side. Each ring belongs to one thread; the other functions may be called on any thread, change() on one at
// a time.
class FeedReader {
 public:
  // Resumes from the state that an earlier node left in the directory, if that node had the same row layout and
  // number of rings. Creates the directory if it is missing. Returns kInUse if another node uses it.
  static Result<std::unique_ptr<FeedReader>> open(const std::string& directory, FeedSettings settings);

  RowRing* ring(uint32_t number) { return rings_[number].get(); }
  // Returns the monitors' counts since the rings were created.
  CaptureTotals totals() const;
  // Returns the number of rows that earlier nodes took from these rings.
  uint64_t taken_before() const { return taken_before_; }
  Status change(const CaptureSettings& capture);

 private:
  FeedReader(std::string directory, FeedSettings settings, FileLock lock)
      : directory_(std::move(directory)), settings_(std::move(settings)), lock_(std::move(lock)) {}
  bool resume();
  Status begin();
  Status write_settings() const;

  std::string directory_;
  FeedSettings settings_;
  FileLock lock_;
  std::vector<std::unique_ptr<RowRing>> rings_;
  std::shared_ptr<FeedCounters> counters_;
  uint64_t taken_before_ = 0;
};

// The monitor's side. Single-threaded.
class FeedWriter {
 public:
  // Returns kNotFound while no node has opened the directory, kInUse if another monitor uses it, and kInvalid if the
  // node has fewer rings than this monitor has lanes. Packets' taps are indices into `taps`.
  static Result<std::unique_ptr<FeedWriter>> join(const std::string& directory, uint32_t lanes, const HashKey& hash_key,
                                                  std::span<const Tap> taps = {});

  // Returns the capture that writes to a lane's share of the rings, for use on the lane's thread. REQUIRES: this object
  // outlives the lane.
  HeaderCapture* capture(uint32_t lane) { return captures_[lane].get(); }
  // Applies the node's current settings. Returns false if the node has created new rings; the monitor must then join
  // again.
  bool follow();

 private:
  FeedWriter(std::string directory, const FeedSettings& settings, std::span<const Tap> taps, FileLock lock)
      : directory_(std::move(directory)),
        settings_(settings),
        layout_(settings.frame_bytes, settings.telemetry_hops, settings.tap_names, taps),
        lock_(std::move(lock)) {}
  Status attach(uint32_t lanes, const HashKey& hash_key);
  void count_unfinished_packets();

  std::string directory_;
  FeedSettings settings_;
  HeaderLayout layout_;
  FileLock lock_;
  std::vector<std::unique_ptr<RowRing>> rings_;
  std::shared_ptr<FeedCounters> counters_;
  std::vector<std::unique_ptr<HeaderCapture>> captures_;
};

}  // namespace tapline::multilog
