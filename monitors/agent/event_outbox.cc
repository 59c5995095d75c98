#include "monitors/agent/event_outbox.h"

#include <utility>

namespace tapline {

bool EventOutbox::Add(v1::EventBatch batch) {
  const size_t bytes = batch.ByteSizeLong();
  if (batch.events_size() > 0 && bytes_ + bytes > kMaxBytes) return false;
  bytes_ += bytes;
  streams_[batch.query()].batches.push_back(std::move(batch));
  return true;
}

void EventOutbox::Send(const std::function<bool(const v1::EventBatch& batch)>& send) {
  for (auto& [query, stream] : streams_) {
    for (; stream.sent < stream.batches.size(); ++stream.sent) {
      if (!send(stream.batches[stream.sent])) return;
    }
  }
}

void EventOutbox::Resend() {
  for (auto& [query, stream] : streams_) stream.sent = 0;
}

void EventOutbox::Acknowledge(const std::string& query, uint64_t incarnation, uint64_t next) {
  const auto found = streams_.find(query);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  const auto is_done = [&](const v1::EventBatch& batch) {
    if (batch.incarnation() != incarnation) return batch.incarnation() < incarnation;
    return batch.first() + static_cast<uint64_t>(batch.events_size()) <= next;
  };
  while (!stream.batches.empty() && is_done(stream.batches.front())) {
    bytes_ -= stream.batches.front().ByteSizeLong();
    stream.batches.pop_front();
    if (stream.sent > 0) --stream.sent;
  }
  if (stream.batches.empty()) streams_.erase(found);
}

}  // namespace tapline
