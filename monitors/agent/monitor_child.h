// The process of this host's monitor. Its standard input is one end of a message socket, which carries commands to it
// and events from it (schema/monitor.proto). The owner polls the other end; nothing blocks. The monitor inherits
// secrets as anonymous files (memfd). If the agent dies, the monitor reads EOF on its standard input and exits.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "monitors/messages/message_socket.h"
#include "packet_io/base/status.h"
#include "schema/monitor.pb.h"

namespace tapline {

class MonitorChild {
 public:
  // Returns the path of a secret by its index, for the child's command line, which all users of the host can read.
  static std::string secret_file(size_t index);

  static Status start(const std::vector<std::string>& command, const std::vector<std::string>& secrets,
                      std::unique_ptr<MonitorChild>* child);
  // Kills the process if it is still running.
  ~MonitorChild();

  int fd() const { return socket_.fd(); }
  // Returns true if the owner should also poll for writability.
  bool has_unsent() const { return socket_.has_unsent(); }

  // Returns true if the command fits into one message.
  static bool fits(const v1::MonitorCommand& command);
  // Sends a command. Kills the monitor if it has left so many commands unread that there is no room. REQUIRES:
  // fits(command).
  void send(const v1::MonitorCommand& command);
  void flush() { socket_.flush(); }
  // Takes the events that have arrived. Returns false once the monitor has ended and no more events will arrive. Kills
  // a monitor whose events can't be read or were lost, because its state is then unknown.
  bool read(std::vector<v1::MonitorStatus>* events);
  // Asks the monitor to flush and end.
  void stop();
  // Waits for the exit of a monitor whose output has ended, and returns the cause. Kills the monitor after a second.
  std::string reap();

 private:
  MonitorChild(pid_t process, int socket) : process_(process), socket_(socket) {}
  void kill(const std::string& cause);

  pid_t process_;
  MessageSocket socket_;
  std::string killed_for_;
};

}  // namespace tapline
