// Takes text away into a file descriptor, however slow its reader is, without ever making the caller wait.
//
// Two buffers: the caller fills its own; Offer() swaps it with the thread's if that has been written. Both are bounded
// by the caller's. One caller thread; the writer's own thread does nothing but write.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "packet_io/base/status.h"

namespace tapline {

// Writes all of it, waiting if need be, with nothing of other writers in between. The status says why not.
Status WriteAll(int fd, std::string_view text);

class LineWriter {
 public:
  // `fd` stays the caller's.
  explicit LineWriter(int fd);
  // Gives up what is not written. A thread that is stuck in a write is left behind: only the end of the process, or a
  // reader, can end that.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // If everything offered before has been written: takes the text, whole lines, leaves an empty string with room in its
  // place, and returns true.
  bool Offer(std::string* text);
  // Waits until everything is written, up to `patience_ns` from the last time that something was. False if it is not.
  bool Flush(int64_t patience_ns);
  Status status() const;

 private:
  // Shared with the thread, which may outlive the writer.
  struct State;
  static void Run(int fd, const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace tapline
