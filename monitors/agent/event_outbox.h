// The events that a control plane has not acknowledged, by query.
//
// Sends each event once per lease: a control plane that takes over receives those that its predecessor did not
// acknowledge, and recognises duplicates by their numbers. Only a window of events is in flight at a time, so that an
// agent uses little memory in a control plane whose log is slow. The outbox's memory is bounded, too: if there is no
// room for a batch, only its numbers are kept, which show how many events are missing.
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
  static constexpr size_t kMaxBytes = 32 << 20;
  static constexpr size_t kWindowBytes = 4 << 20;

  // Adds a batch. Returns false if there is no room for its events.
  bool add(v1::EventBatch batch);
  // Sends events that were not sent on this lease, in order for each query, until `send` returns false or the window is
  // full. Queries take turns with one batch each, so a busy query does not delay the others.
  void send(const std::function<bool(const v1::EventBatch& batch)>& send);
  // Begins a new lease, on which all events are sent again.
  void resend();
  // Drops the query's events of this incarnation of the monitor with numbers below `next`, since the control plane has
  // them or does not want them. Also drops events of earlier incarnations.
  void acknowledge(const std::string& query, uint64_t incarnation, uint64_t next);

  // Returns true if some of the query's events were not sent on this lease.
  bool has_unsent(const std::string& query) const;

  size_t bytes() const { return bytes_; }

 private:
  struct StoredBatch {
    v1::EventBatch batch;
    size_t bytes;
  };
  struct Stream {
    std::deque<StoredBatch> batches = {};
    size_t sent = 0;  // batches sent on this lease
  };

  std::map<std::string, Stream> streams_;
  std::string last_sender_;  // the query whose batch was sent last
  size_t bytes_ = 0;
  size_t under_way_ = 0;  // bytes sent on this lease and not yet acknowledged
};

}  // namespace tapline
