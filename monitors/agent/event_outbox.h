// The events that a control plane has not acknowledged, by query.
//
// They are sent once on each lease: a control plane that takes over gets what the one before did not acknowledge, and
// tells by the numbers what it has already. Bounded: a batch that finds no room is given up, and the numbers of the
// next one show how many events are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "schema/event.pb.h"

namespace tapline {

class EventOutbox {
 public:
  static constexpr size_t kMaxBytes = 8 << 20;

  // Returns false if there is no room for it. A batch that only tells of an end, or of missing events, always has room.
  bool Add(v1::EventBatch batch);
  // Sends what was not sent on this lease, in order for each query, until `send` returns false.
  void Send(const std::function<bool(const v1::EventBatch& batch)>& send);
  // A new lease begins: everything is to be sent on it.
  void Resend();
  // The control plane has the query's events of this life of the monitor up to this number, exclusive, or does not want
  // them. Those of earlier lives go, too.
  void Acknowledge(const std::string& query, uint64_t incarnation, uint64_t next);

  size_t bytes() const { return bytes_; }

 private:
  struct Stream {
    std::deque<v1::EventBatch> batches = {};
    size_t sent = 0;  // of them, on this lease
  };

  std::map<std::string, Stream> streams_;
  size_t bytes_ = 0;
};

}  // namespace tapline
