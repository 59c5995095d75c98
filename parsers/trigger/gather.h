#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/packets/sample.h"
#include "parsers/packets/tcp_facts.h"
#include "parsers/trigger/match_sets.h"
#include "parsers/trigger/window.h"

namespace tapline::trigger {

struct GatherOptions {
  uint32_t cache_lines = 1 << 16;  // lines of 64 bytes, for four combinations of classes each; a power of two
  // Maximum number of group counters in a pane, for each channel with groups; at most 2^24. If a window
  // has more than eight panes, each pane has fewer, so that the window has at most eight times this number. A counter
  // takes 128 to 320 bytes, plus 16 of buckets, in each of the windows below, once it is used.
  uint32_t max_groups = Program::kMaxGroups;
  // Memory for the distinct values and percentiles of a pane, for each channel that has triggers on them. If a window
  // has more than eight panes, each pane has less, as above.
  size_t sketch_bytes = 32 << 20;
  // Number of windows for each channel, beyond those that a window of several panes needs. Two are enough for a lane
  // that sweeps its windows itself; a separate thread needs more, since it may lag.
  uint32_t windows = 2;
  // If true, groups that reach a limit are listed in Window::reached for Sweep::look().
  bool watch = false;
};

// Counts each packet of a lane in the cells of its match set, and by group in channels with groups. No packet is looked
// up by flow, and no work is done per trigger. Not thread-safe; another thread may sweep its rings.
//
// Windows follow packet time. A packet that is earlier than its predecessor is counted at its predecessor's time, so
// time never runs backwards (as in Emitter::now_ns()).
class Gather {
 public:
  static constexpr size_t kBurst = 64;

  // REQUIRES: the program and the hasher outlive this object.
  Gather(const Program& program, const GroupHasher& hasher, const GatherOptions& options);

  // Touches the first pages of each array, up to `bytes`, so that counting does not wait for them.
  void populate(size_t bytes) const;

  // Returns the time of the latest sample, or INT64_MIN if there was none.
  int64_t clock_ns() const { return clock_ns_; }
  // Returns the earliest end of an open window. Samples before it can be counted.
  int64_t boundary_ns() const { return boundary_ns_; }
  // Returns true if the channel's window ends at or before this time.
  bool ends(uint32_t channel, int64_t time_ns) const { return time_ns >= open_[channel].end_ns; }
  // Counts the samples up to the first one that is not before boundary_ns(), at most kBurst, and returns their number.
  // `tcp` has the facts of each sample, or is empty if the program doesn't need them.
  size_t count(std::span<const Sample> samples, std::span<const TcpFacts> tcp);
  // Closes the windows that end at or before `time_ns`, and opens those that contain it. If the sweeping thread has not
  // released a window of a channel, the channel counts nothing until its next window begins.
  void advance(int64_t time_ns);
  // Returns true if there is room for the next windows.
  bool has_room() const;
  // Counts the packets as lost in all windows that contain one of their possible times, including those that open
  // later. REQUIRES: no such window has been closed, or the caller accepts that closed windows do not show the loss.
  void lose(const LostPackets& lost);
  // Returns the time of the earliest window before `time_ns` that is not open yet and may contain lost packets, or
  // `time_ns` if there is none. Such a window has to be opened even if it has no packets.
  int64_t next_loss_ns(int64_t time_ns) const;
  // Counts the losses that `earlier` expects in later windows, when this object continues from it.
  void take_over_losses(const Gather& earlier);

  // Returns the window in which the channel's packets are counted, or null if there is none.
  Window* open_window(uint32_t channel) const { return open_[channel].window; }
  WindowRing& ring(uint32_t channel) const { return *rings_[channel]; }
  const MatchSets& sets() const { return *sets_; }
  uint64_t cache_misses() const { return sets_->cache_misses() + spare_sets_->cache_misses(); }
  uint64_t counted_singly() const { return sets_->counted_singly() + spare_sets_->counted_singly(); }
  // Returns how often all match sets were replaced.
  uint64_t renewals() const { return renewals_; }

 private:
  struct Pending {
    GroupKey key;
    uint64_t hash;
    uint32_t sample;
    uint32_t cell;
  };
  // A channel's window, and the packets pending for its groups.
  struct Open {
    const Channel* channel;
    Window* window = nullptr;  // null if no window is free
    int64_t end_ns = INT64_MIN;
    int64_t blind_from_ns = kSighted;   // start of the current period without a window
    uint64_t uncounted_packets = 0;     // since then
    uint64_t lost_packets = 0;          // since then
    uint64_t last_with_spare_sets = 0;  // number of closed windows when the sets were renewed
    uint32_t pending = 0;
    std::vector<Pending> groups;
  };

  static constexpr int64_t kSighted = INT64_MAX;

  void count_burst(std::span<const Sample> samples, std::span<const TcpFacts> tcp);
  void open_next(Open* open, WindowRing* ring, int64_t time_ns);
  uint64_t losses_in(int64_t start_ns, int64_t end_ns) const;
  void forget_losses();
  bool renew_sets();
  void tidy_spare_sets();
  void report_blind(Open* open, WindowRing* ring, int64_t until_ns);
  [[gnu::always_inline]] void prefetch_counter(uint16_t set) const;
  [[gnu::always_inline]] void count_cell(const CellRef& ref, uint32_t sample);
  void count_groups(Open* open);
  void sample(Open* open, uint64_t before);
  bool sample(Open* open, uint32_t sample);
  [[gnu::always_inline]] void watch(const Open& open, GroupTable::Entry* entry) const;
  void watch_chain(const Open& open, GroupTable::Entry* first) const;
  void count_in(uint64_t* counter, const Channel& channel, uint32_t sample);
  // Adds the sample to the sketches of a group's counter, or of the cell's counter if `group` is 0.
  void sketch(const Open& open, uint32_t cell, uint32_t group, uint32_t sample) const;

  const Program& program_;
  const GroupHasher& hasher_;
  // While one of them is in use, the other one waits until the windows that refer to it are swept, and is then cleared.
  std::unique_ptr<MatchSets> sets_, spare_sets_;
  enum class SpareState : uint8_t { kReady, kReferred, kClearing };
  SpareState spare_ = SpareState::kReady;
  uint64_t renewals_ = 0;
  bool watch_;
  std::vector<std::unique_ptr<WindowRing>> rings_;
  std::vector<Open> open_;
  int64_t boundary_ns_ = INT64_MIN;
  std::vector<LostPackets> losses_;  // losses that may fall into later windows
  std::span<const Sample> samples_;  // valid during count()
  std::span<const TcpFacts> tcp_;
  std::array<ClassKey, kBurst> keys_;
  std::array<uint64_t, kBurst> hashes_;
  std::array<uint16_t, kBurst> found_;  // match set of each sample
  int64_t clock_ns_ = INT64_MIN;
  std::array<int64_t, kBurst> times_;
};

}  // namespace tapline::trigger
