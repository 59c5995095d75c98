#include "packet_io/source/merged_source.h"

#include <algorithm>

namespace tapline {

MergedSource::MergedSource(std::vector<std::unique_ptr<PacketSource>> sources) {
  inputs_.reserve(sources.size());
  for (auto& source : sources) inputs_.emplace_back().source = std::move(source);
}

Status MergedSource::start() {
  for (Input& input : inputs_) {
    if (Status status = input.source->start(); !status.ok()) return status;
  }
  return {};
}

void MergedSource::stop() {
  for (auto input = inputs_.rbegin(); input != inputs_.rend(); ++input) input->source->stop();
}

bool MergedSource::polled_times() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.source->polled_times(); });
}

int64_t MergedSource::Input::reached_ns() const {
  if (has_packet()) return packets[next].time_ns;
  return ended ? INT64_MAX : source->idle_time_ns().value_or(INT64_MIN);
}

// Polls the sources from which all packets were returned. The caller no longer uses the packets of its last poll().
void MergedSource::poll_empty() {
  for (size_t tap = 0; tap < inputs_.size(); ++tap) {
    Input& input = inputs_[tap];
    if (input.has_packet() || input.ended) continue;
    const Burst burst = input.source->poll(input.packets);
    input.next = 0;
    input.count = burst.packets;
    input.ended = burst.ended;
    for (size_t i = 0; i < input.count; ++i) input.packets[i].tap = static_cast<uint8_t>(tap);
  }
}

// Returns the input with the next packet, or null if another source may still have an earlier one.
MergedSource::Input* MergedSource::earliest() {
  Input* earliest = &inputs_[0];
  for (Input& input : inputs_) {
    const int64_t here_ns = input.reached_ns(), latest_ns = earliest->reached_ns();
    if (here_ns < latest_ns || (here_ns == latest_ns && input.has_packet() && !earliest->has_packet()))
      earliest = &input;
  }
  return earliest->has_packet() ? earliest : nullptr;
}

PacketSource::Burst MergedSource::poll(std::span<RawPacket> packets) {
  poll_empty();
  size_t count = 0;
  while (count < packets.size()) {
    Input* input = earliest();
    if (input == nullptr) break;
    const RawPacket& packet = packets[count++] = input->packets[input->next++];
    if (packet.time_ns < latest_ns_) ++input->late;
    latest_ns_ = std::max(latest_ns_, packet.time_ns);
    // Only the next call may poll this source, since its packets must remain valid.
    if (!input->has_packet()) break;
  }
  const auto is_over = [](const Input& input) { return input.ended && !input.has_packet(); };
  return {count, count == 0 && std::all_of(inputs_.begin(), inputs_.end(), is_over)};
}

Status MergedSource::status() const {
  for (const Input& input : inputs_) {
    if (Status status = input.source->status(); !status.ok()) return status;
  }
  return {};
}

PacketSource::Losses MergedSource::read_losses() {
  Losses all;
  for (Input& input : inputs_) all += input.source->read_losses();
  return all;
}

std::optional<int64_t> MergedSource::idle_time_ns() const {
  int64_t reached_ns = INT64_MAX;
  for (const Input& input : inputs_) reached_ns = std::min(reached_ns, input.reached_ns());
  return reached_ns == INT64_MIN || reached_ns == INT64_MAX ? std::nullopt : std::optional(reached_ns);
}

}  // namespace tapline
