#include "monitors/agent/event_outbox.h"

#include <utility>

namespace tapline {
namespace {

void remove_events(v1::EventBatch* batch) {
  batch->set_first(batch->first() + batch->count());
  batch->set_count(0);
  batch->clear_events();
}

bool is_superseded(const v1::EventBatch& previous_batch, const v1::EventBatch& later_batch) {
  return previous_batch.count() == 0 && !previous_batch.last() &&
         previous_batch.incarnation() == later_batch.incarnation();
}

}  // namespace

bool EventOutbox::add(v1::EventBatch batch) {
  const bool fits = batch.count() == 0 || bytes_ + batch.ByteSizeLong() <= kMaxBytes;
  if (!fits) remove_events(&batch);
  Stream& stream = streams_[batch.query()];
  // A batch without events is not needed once the next one arrives, whose first number shows the same gap.
  if (stream.sent < stream.batches.size() && is_superseded(stream.batches.back().batch, batch)) {
    bytes_ -= stream.batches.back().bytes;
    stream.batches.pop_back();
  }
  const size_t bytes = batch.ByteSizeLong();
  bytes_ += bytes;
  stream.batches.push_back({std::move(batch), bytes});
  return fits;
}

void EventOutbox::send(const std::function<bool(const v1::EventBatch& batch)>& send) {
  size_t idle = 0;  // consecutive queries that had nothing to send
  for (auto next = streams_.upper_bound(last_sender_); idle < streams_.size(); ++next) {
    if (next == streams_.end()) next = streams_.begin();
    auto& [query, stream] = *next;
    if (stream.sent == stream.batches.size()) {
      ++idle;
      continue;
    }
    const StoredBatch& batch = stream.batches[stream.sent];
    if (under_way_ >= kWindowBytes || !send(batch.batch)) return;
    under_way_ += batch.bytes;
    ++stream.sent;
    last_sender_ = query;
    idle = 0;
  }
}

bool EventOutbox::has_unsent(const std::string& query) const {
  const auto it = streams_.find(query);
  return it != streams_.end() && it->second.sent < it->second.batches.size();
}

void EventOutbox::resend() {
  for (auto& [query, stream] : streams_) stream.sent = 0;
  under_way_ = 0;
}

void EventOutbox::acknowledge(const std::string& query, uint64_t incarnation, uint64_t next) {
  const auto it = streams_.find(query);
  if (it == streams_.end()) return;
  Stream& stream = it->second;
  const auto is_done = [&](const v1::EventBatch& batch) {
    if (batch.incarnation() != incarnation) return batch.incarnation() < incarnation;
    return batch.first() + batch.count() <= next;
  };
  while (!stream.batches.empty() && is_done(stream.batches.front().batch)) {
    bytes_ -= stream.batches.front().bytes;
    if (stream.sent > 0) {
      --stream.sent;
      under_way_ -= stream.batches.front().bytes;
    }
    stream.batches.pop_front();
  }
  if (stream.batches.empty()) streams_.erase(it);
}

}  // namespace tapline
