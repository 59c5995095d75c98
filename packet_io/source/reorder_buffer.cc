#include "packet_io/source/reorder_buffer.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tapline {

void ReorderBuffer::add(std::span<const CapturedPacket> packets) {
  for (const CapturedPacket& packet : packets) {
    if (free_.empty()) free_.push_back(std::make_unique<WaitingPacket>());
    std::unique_ptr<WaitingPacket> waiting = std::move(free_.back());
    free_.pop_back();
    waiting->bytes.assign(packet.data, packet.data + packet.captured_bytes);
    waiting->packet = packet;
    waiting->packet.data = waiting->bytes.data();
    waiting->number = added_++;
    latest_ns_ = std::max(latest_ns_, packet.time_ns);
    waiting_bytes_ += packet.captured_bytes + sizeof(WaitingPacket);
    waiting_.push_back(std::move(waiting));
    std::push_heap(waiting_.begin(), waiting_.end(), LaterFirst());
  }
}

bool ReorderBuffer::is_ready() const {
  if (waiting_.empty()) return false;
  return ended_ || waiting_bytes_ >= kMaxBytes || latest_ns_ - waiting_.front()->packet.time_ns >= bound_ns_;
}

std::unique_ptr<ReorderBuffer::WaitingPacket> ReorderBuffer::pop() {
  std::pop_heap(waiting_.begin(), waiting_.end(), LaterFirst());
  std::unique_ptr<WaitingPacket> earliest = std::move(waiting_.back());
  waiting_.pop_back();
  waiting_bytes_ -= earliest->packet.captured_bytes + sizeof(WaitingPacket);
  return earliest;
}

size_t ReorderBuffer::take(std::span<CapturedPacket> packets) {
  size_t count = 0;
  while (count < packets.size() && is_ready()) {
    taken_.push_back(pop());
    packets[count++] = taken_.back()->packet;
  }
  return count;
}

void ReorderBuffer::recycle() {
  std::move(taken_.begin(), taken_.end(), std::back_inserter(free_));
  taken_.clear();
}

}  // namespace tapline
