// The process of this host's monitor: commands go into its standard input, lines come out of its standard error. The
// owner polls both ends; nothing blocks. What others must not see it gets as an open file without a name. If this
// process dies, the monitor reads the end of its input, and ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

class MonitorChild {
 public:
  // A monitor that does not read is given up beyond this many bytes.
  static constexpr size_t kMostUnwritten = 16 << 20;

  // Where the child finds a secret by its index: for its command line, which everybody on the host can read.
  static std::string SecretFile(size_t index);

  static Status Start(const std::vector<std::string>& command, const std::vector<std::string>& secrets,
                      std::unique_ptr<MonitorChild>* child);
  // Kills it, if it still runs.
  ~MonitorChild();

  int status_fd() const { return status_; }
  // To be polled for room, or -1 while there is nothing to write.
  int command_fd() const { return unwritten_.empty() ? -1 : commands_; }

  void Send(const std::string& line);
  void Write();
  // Takes whole lines that have come; false once there will be no more: it has ended.
  bool Read(std::vector<std::string>* lines);
  // Asks it to flush and end.
  void Stop();
  // Waits for the end of one whose lines have ended; says what it died of.
  std::string Reap();

 private:
  MonitorChild(pid_t process, int commands, int status) : process_(process), commands_(commands), status_(status) {}

  pid_t process_;
  int commands_;
  int status_;
  std::string unwritten_;
  std::string unread_;
};

}  // namespace tapline
