#include "parsers/trigger/gather.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tapline::trigger {
namespace {

// Returns the maximum number of groups in a pane. All panes of a window together have room for at most 8 * max_groups.
uint32_t groups_of_pane(uint32_t max_groups, uint32_t panes) {
  return std::min(max_groups, std::bit_floor(std::max(8 * max_groups / panes, 1u)));
}

size_t sketch_bytes_of_pane(size_t bytes, uint32_t panes) { return std::min(bytes, 8 * bytes / panes); }

// Maximum number of losses that are kept apart. Further ones widen the last one's range.
constexpr size_t kMaxLosses = 64;

}  // namespace

Gather::Gather(const Program& program, const GroupHasher& hasher, const GatherOptions& options)
    : program_(program),
      hasher_(hasher),
      sets_(std::make_unique<MatchSets>(program, options.cache_lines)),
      spare_sets_(std::make_unique<MatchSets>(program, options.cache_lines)),
      watch_(options.watch) {
  const auto& channels = program.channels();
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    const uint32_t panes = channels[channel].panes();
    rings_.push_back(std::make_unique<WindowRing>(channels[channel], options.windows + panes - 1,
                                                  sets_->max_cells(channel), groups_of_pane(options.max_groups, panes),
                                                  sketch_bytes_of_pane(options.sketch_bytes, panes)));
    Open& open = open_.emplace_back();
    open.channel = &channels[channel];
    if (channels[channel].grouped) open.groups.resize(kBurst);
  }
  if (channels.empty()) boundary_ns_ = INT64_MAX;
}

void Gather::populate(size_t bytes) const {
  sets_->populate(bytes);
  for (const auto& ring : rings_) ring->populate(bytes);
}

size_t Gather::count(std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  const size_t max = std::min(samples.size(), kBurst);
  size_t count = 0;
  while (count < max && samples[count].time_ns < boundary_ns_) ++count;
  if (count > 0) count_burst(samples.first(count), tcp.first(tcp.empty() ? 0 : count));
  return count;
}

// Processes the burst in steps (classes, sets, counters, groups), so that the memory loads of one step overlap.
void Gather::count_burst(std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  samples_ = samples;
  tcp_ = tcp;
  for (size_t i = 0; i < samples.size(); ++i) {
    clock_ns_ = std::max(clock_ns_, samples[i].time_ns);
    times_[i] = clock_ns_;
    keys_[i] = program_.classify(samples[i]);
    hashes_[i] = sets_->hash(keys_[i]);
    sets_->prefetch(hashes_[i]);
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    found_[i] = sets_->find(keys_[i], hashes_[i]);
    prefetch_counter(found_[i]);
  }
  uint64_t packets = 0;
  for (uint32_t i = 0; i < samples.size(); ++i) {
    packets += samples[i].packets;
    const uint16_t set = found_[i];
    for (const CellRef& ref : set != MatchSets::kNoSet ? sets_->cells_of(set) : sets_->count_singly(keys_[i])) {
      count_cell(ref, i);
    }
  }
  if (spare_ != SpareState::kReady) [[unlikely]]
    tidy_spare_sets();
  for (Open& open : open_) {
    if (open.pending > 0) count_groups(&open);
    (open.window != nullptr ? open.window->packets : open.uncounted_packets) += packets;
    if (open.window == nullptr) continue;
    open.window->latest_ns = clock_ns_;
    if (open.window->cell_exemplars().due(open.window->packets)) sample(&open, open.window->packets - packets);
  }
}

// Samples packets of the burst that are counted in the channel. `before` is the number of packets that the window had
// counted before this burst.
void Gather::sample(Open* open, uint64_t before) {
  Exemplars& exemplars = open->window->cell_exemplars();
  for (uint32_t i = 0; i < samples_.size(); ++i) {
    if (exemplars.due(before + i) && sample(open, i)) exemplars.wait(before + i);
  }
  // If the channel counts no packet of the burst, the next burst need not be searched.
  if (exemplars.due(open->window->packets)) exemplars.wait(open->window->packets);
}

bool Gather::sample(Open* open, uint32_t sample) {
  if (found_[sample] == MatchSets::kNoSet) return false;
  bool counts = false;
  for (const CellRef& ref : sets_->cells_of(found_[sample])) {
    if (open->channel != open_[ref.channel].channel) continue;
    counts = true;
    if (!open->channel->grouped) {
      open->window->cell_exemplars().add(ref.cell, samples_[sample]);
      continue;
    }
    const GroupKey key = open->channel->keys.of(samples_[sample]);
    const uint32_t counter = open->window->groups()->find(key, hasher_(key), ref.cell);
    if (counter != 0) open->window->group_exemplars()->add(counter, samples_[sample]);
  }
  return counts;
}

// Prefetches the counter of the first cell: most sets have only one.
inline void Gather::prefetch_counter(uint16_t set) const {
  if (set == MatchSets::kNoSet) return;
  const auto cells = sets_->cells_of(set);
  if (cells.empty()) return;
  const Open& open = open_[cells[0].channel];
  if (open.window != nullptr && !open.channel->grouped) open.window->prefetch_counter(cells[0].cell);
}

inline void Gather::count_cell(const CellRef& ref, uint32_t sample) {
  Open& open = open_[ref.channel];
  if (open.window == nullptr) return;
  if (!open.channel->grouped) {
    count_in(open.window->counter(ref.cell, samples_[sample]), *open.channel, sample);
    if (open.channel->sketches != 0) [[unlikely]]
      sketch(open, ref.cell, 0, sample);
    return;
  }
  // A set may have several cells of this channel, so the list may fill up within a burst.
  if (open.pending == kBurst) count_groups(&open);
  Pending& pending = open.groups[open.pending++];
  pending.key = open.channel->keys.of(samples_[sample]);
  pending.hash = hasher_(pending.key);
  pending.sample = sample;
  pending.cell = ref.cell;
  open.window->groups()->prefetch_bucket(pending.hash);
}

inline void Gather::count_in(uint64_t* counter, const Channel& channel, uint32_t sample) {
  count_packet(counter, samples_[sample]);
  if (channel.lines > 1) {
    static constexpr TcpFacts kNone;
    count_more(counter, channel.lines, samples_[sample], tcp_.empty() ? kNone : tcp_[sample]);
  }
  if (channel.burst_bin_ns > 0) {
    Burst::add(counter + 3 * kLineWords, channel.burst_bin_ns, times_[sample], samples_[sample].bytes);
  }
}

void Gather::sketch(const Open& open, uint32_t cell, uint32_t group, uint32_t sample) const {
  static constexpr TcpFacts kNone;
  WindowSketches& sketches = *open.window->sketches();
  const auto channel = static_cast<uint32_t>(&open - open_.data());
  sketches.add(group != 0 ? sketches.of_group(group) : sketches.of_cell(cell), sets_->cell(channel, cell).sketches,
               samples_[sample], tcp_.empty() ? kNone : tcp_[sample], hasher_);
}

void Gather::count_groups(Open* open) {
  GroupTable& groups = *open->window->groups();
  const bool names_first = !open->channel->by.is_whole_flow();
  for (uint32_t i = 0; i < open->pending; ++i) groups.prefetch_entry(open->groups[i].hash);
  for (uint32_t i = 0; i < open->pending; ++i) {
    const Pending& pending = open->groups[i];
    const Sample& sample = samples_[pending.sample];
    const uint32_t size = groups.size();
    GroupTable::Entry* entry = groups.find_or_add(pending.key, pending.hash, pending.cell);
    if (groups.size() > size && names_first) open->window->group_exemplars()->set_first(groups.size(), sample);
    count_in(entry != nullptr ? entry->counter() : open->window->counter(pending.cell, sample), *open->channel,
             pending.sample);
    if (entry != nullptr && watch_) watch(*open, entry);
    if (open->channel->sketches != 0) [[unlikely]] {
      if (groups.size() > size) open->window->sketches()->begin(open->window->sketches()->of_group(groups.size()));
      sketch(*open, pending.cell, entry != nullptr ? groups.number_of(*entry) : 0, pending.sample);
    }
  }
  open->pending = 0;
}

// Lists the group if its counts have reached a limit. In a group's first counter, the word that marks cells' counters
// as touched contains the value below which the group need not be listed.
inline void Gather::watch(const Open& open, GroupTable::Entry* entry) const {
  if (!entry->is_first() || entry->next != 0) return watch_chain(open, entry);
  uint64_t* counter = entry->counter();
  for (const Channel::Limit& limit : open.channel->early) {
    if (counter[limit.word] >= std::max(limit.min, counter[kTouched])) return open.window->list(entry);
  }
}

// Like watch(), for a group with several counters.
void Gather::watch_chain(const Open& open, GroupTable::Entry* entry) const {
  if (open.channel->early.empty()) return;
  GroupTable& groups = *open.window->groups();
  GroupTable::Entry& first = entry->is_first() ? *entry : groups.entry(entry->older);
  const uint64_t settled_below = first.counter()[kTouched];
  if (settled_below == Window::kListed) return;
  uint64_t sum[kWords] = {};
  for (const GroupTable::Entry* linked = &first;; linked = &groups.entry(linked->next)) {
    merge(sum, linked->counter(), open.channel->lines);
    if (linked->next == 0) break;
  }
  for (const Channel::Limit& limit : open.channel->early) {
    if (sum[limit.word] >= std::max(limit.min, settled_below)) return open.window->list(&first);
  }
}

void Gather::advance(int64_t time_ns) {
  const bool all_end =
      std::all_of(open_.begin(), open_.end(), [&](const Open& open) { return time_ns >= open.end_ns; });
  const bool renewed = all_end && sets_->is_nearly_full() && renew_sets();
  boundary_ns_ = INT64_MAX;
  for (uint32_t channel = 0; channel < open_.size(); ++channel) {
    if (time_ns >= open_[channel].end_ns) open_next(&open_[channel], rings_[channel].get(), time_ns);
    boundary_ns_ = std::min(boundary_ns_, open_[channel].end_ns);
    if (renewed) open_[channel].last_with_spare_sets = rings_[channel]->closed();
  }
  if (!losses_.empty()) forget_losses();
}

void Gather::open_next(Open* open, WindowRing* ring, int64_t time_ns) {
  const int64_t start_ns = time_ns - time_ns % open->channel->every_ns;
  if (open->end_ns == INT64_MIN) ring->set_started(time_ns);
  if (open->window != nullptr && open->window->packets + open->window->lost_packets > 0) ring->close();
  open->end_ns = start_ns + open->channel->every_ns;
  open->window = ring->free_window();
  if (open->window != nullptr && open->blind_from_ns != kSighted) report_blind(open, ring, start_ns);
  if (open->window == nullptr) {
    open->blind_from_ns = std::min(open->blind_from_ns, start_ns);
  } else {
    open->window->start_ns = start_ns;
    open->window->end_ns = open->end_ns;
    open->window->blind = false;
    open->window->sets = sets_.get();
    open->window->lost_packets = losses_in(start_ns, open->end_ns);
  }
  ring->set_passed(std::min(start_ns, open->blind_from_ns));
}

// Replaces the sets with the empty spare ones. Sets that packets still match are then created again; all others are
// dropped. Returns false if the spare sets are not ready. REQUIRES: all windows end now, since the next ones use other
// cells.
bool Gather::renew_sets() {
  if (spare_ != SpareState::kReady) return false;
  std::swap(sets_, spare_sets_);
  spare_ = SpareState::kReferred;
  ++renewals_;
  return true;
}

void Gather::tidy_spare_sets() {
  constexpr uint32_t kStepsPerBurst = 2;  // 8 KiB
  if (spare_ == SpareState::kReferred) {
    for (uint32_t channel = 0; channel < open_.size(); ++channel) {
      if (rings_[channel]->released() < open_[channel].last_with_spare_sets) return;
    }
    spare_ = SpareState::kClearing;
    return;
  }
  uint32_t work = kStepsPerBurst;
  if (spare_sets_->forget(&work)) spare_ = SpareState::kReady;
}

// Reports the windows for which no memory was free as a single closed window that contains only losses.
void Gather::report_blind(Open* open, WindowRing* ring, int64_t until_ns) {
  open->window->start_ns = open->blind_from_ns;
  open->window->end_ns = until_ns;
  open->window->blind = true;
  open->window->sets = sets_.get();
  open->window->uncounted_packets = std::exchange(open->uncounted_packets, 0);
  open->window->lost_packets = std::exchange(open->lost_packets, 0);
  ring->close();
  open->blind_from_ns = kSighted;
  open->window = ring->free_window();
}

bool Gather::has_room() const {
  return std::all_of(rings_.begin(), rings_.end(), [](const auto& ring) { return ring->has_next(); });
}

void Gather::lose(const LostPackets& lost) {
  for (Open& open : open_) {
    // A channel without a window is blind until its next one begins, so its losses belong to the blind period.
    if (open.window == nullptr && open.blind_from_ns != kSighted) open.lost_packets += lost.packets;
    if (open.window == nullptr) continue;
    if (lost.from_ns < open.end_ns && lost.until_ns >= open.window->start_ns) open.window->lost_packets += lost.packets;
  }
  if (lost.until_ns < boundary_ns_) return;
  if (losses_.size() < kMaxLosses) {
    losses_.push_back(lost);
    return;
  }
  LostPackets& last = losses_.back();
  last.packets += lost.packets;
  last.from_ns = std::min(last.from_ns, lost.from_ns);
  last.until_ns = std::max(last.until_ns, lost.until_ns);
}

int64_t Gather::next_loss_ns(int64_t time_ns) const {
  if (boundary_ns_ == INT64_MIN) return time_ns;
  int64_t next_ns = time_ns;
  for (const LostPackets& lost : losses_) {
    const int64_t from_ns = std::max(lost.from_ns, boundary_ns_);
    if (from_ns <= lost.until_ns) next_ns = std::min(next_ns, from_ns);
  }
  return next_ns;
}

void Gather::take_over_losses(const Gather& earlier) {
  for (const LostPackets& lost : earlier.losses_) lose(lost);
}

// Returns the number of expected losses that may belong to this window.
uint64_t Gather::losses_in(int64_t start_ns, int64_t end_ns) const {
  uint64_t packets = 0;
  for (const LostPackets& lost : losses_) {
    if (lost.from_ns < end_ns && lost.until_ns >= start_ns) packets += lost.packets;
  }
  return packets;
}

// Forgets the losses that belong to no later window.
void Gather::forget_losses() {
  std::erase_if(losses_, [this](const LostPackets& lost) { return lost.until_ns < boundary_ns_; });
}

}  // namespace tapline::trigger
