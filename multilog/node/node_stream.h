// The output of a call whose response consists of many messages. Independent of gRPC, so that handlers do not depend on
// gRPC's threads.
#pragma once

namespace tapline::multilog {

template <typename Reply>
class NodeStream {
 public:
  virtual ~NodeStream() = default;

  // Sends a message, and waits until more can be sent. Returns false if the client has disconnected.
  virtual bool write(const Reply& reply) = 0;

  // Sets the last message, which is sent together with the call's status.
  virtual void write_last(Reply reply) = 0;

  // Returns true if the client has disconnected or its deadline has passed.
  virtual bool is_cancelled() const = 0;
};

}  // namespace tapline::multilog
