// The output of a call whose response consists of many messages. Independent of gRPC, so that a handler does not depend
// on its threads.
#pragma once

namespace tapline::multilog {

template <typename Reply>
class NodeStream {
 public:
  virtual ~NodeStream() = default;

  // Waits until more can be sent to the client. Returns false if the client has disconnected.
  virtual bool write(const Reply& reply) = 0;

  // Writes a message that is sent together with the call's status. Nothing is written after it.
  virtual void write_last(Reply reply) = 0;

  // True if the client has disconnected or its deadline has passed.
  virtual bool is_cancelled() const = 0;
};

}  // namespace tapline::multilog
