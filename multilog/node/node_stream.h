// The output of a call that answers with many messages. Independent of gRPC, so that a handler does not know its
// threads.
#pragma once

namespace tapline::multilog {

template <typename Reply>
class NodeStream {
 public:
  virtual ~NodeStream() = default;

  // Waits until the client can be sent more. Returns false if it has disconnected.
  virtual bool write(const Reply& reply) = 0;

  // Sent with the status of the call, in one piece; nothing is written after it.
  virtual void write_last(Reply reply) = 0;

  // The client has disconnected, or its deadline has passed.
  virtual bool is_cancelled() const = 0;
};

}  // namespace tapline::multilog
