// Writes text to a file descriptor. Only flush() blocks the caller, even if the reader is slow.
//
// Uses two buffers: the caller fills its own, and offer() swaps it with the thread's buffer once that has been written.
// The caller bounds the size of both. Must be called on one thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "packet_io/base/status.h"

namespace tapline {

// Writes all of `text`, waiting if necessary, without interleaving it with other writers' output.
Status write_all(int fd, std::string_view text);

class LineWriter {
 public:
  // The caller still owns `fd`.
  explicit LineWriter(int fd);
  // Discards unwritten text. Abandons a thread that is stuck in a write, since only a reader or the end of the process
  // can release it.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Returns false if text offered earlier may not have been written yet. Otherwise takes the text (whole lines), leaves
  // an empty string with room in its place, and returns true.
  bool offer(std::string* text);
  // Waits until everything is written, or until there has been no progress for `timeout_ns`. Returns true if everything
  // is written.
  bool flush(int64_t timeout_ns);
  Status status() const;

 private:
  // Shared with the thread, which may outlive the writer.
  struct State;
  static void run(int fd, const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace tapline
