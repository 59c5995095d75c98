// The process of this host's monitor: commands go to its standard input, lines come from its standard error. The owner
// polls both ends; nothing blocks. It receives secrets as open files without a name. If this process dies, the monitor
// reaches the end of its input, and ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

class MonitorChild {
 public:
  // A monitor that leaves more than this many bytes unread is given up.
  static constexpr size_t kMostUnwritten = 16 << 20;

  // The path of a secret by its index, for the child's command line, which all users of the host can read.
  static std::string SecretFile(size_t index);

  static Status Start(const std::vector<std::string>& command, const std::vector<std::string>& secrets,
                      std::unique_ptr<MonitorChild>* child);
  // Kills the process, if it still runs.
  ~MonitorChild();

  int status_fd() const { return status_; }
  // Poll for writability, or -1 while there is nothing to write.
  int command_fd() const { return unwritten_.empty() ? -1 : commands_; }

  void Send(const std::string& line);
  void Write();
  // Takes the whole lines that have come; returns false once the monitor has ended and no more will come.
  bool Read(std::vector<std::string>* lines);
  // Asks it to flush and end.
  void Stop();
  // Waits for the end of a monitor whose output has ended; returns the cause of death.
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
