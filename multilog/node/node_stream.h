// What a call that answers with many messages writes to. Apart from gRPC, so that a handler does not know its threads.
#pragma once

namespace tapline::multilog {

template <typename Reply>
class NodeStream {
 public:
  virtual ~NodeStream() = default;

  // Waits until the client may be sent more. False: it has gone.
  virtual bool Write(const Reply& reply) = 0;

  // Sent with the status of the call, in one piece; nothing is written after it.
  virtual void WriteLast(Reply reply) = 0;

  // The client has gone, or its deadline is over.
  virtual bool IsCancelled() const = 0;
};

}  // namespace tapline::multilog
