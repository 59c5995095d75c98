#include "monitors/control/control_channel.h"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "packet_io/base/clock.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

constexpr int64_t kLookEveryNs = 50 * kNsPerMs;
constexpr int64_t kLookOftenNs = 2 * kNsPerMs;
// Pause between two batches under load. Without it, nearly every event would cost its lane the system call that wakes
// this thread, and each small batch would wake five threads on its way to a client.
constexpr int64_t kBatchEveryNs = 500 * kNsPerUs;

timespec duration_of(int64_t ns) { return {ns / kNsPerSecond, ns % kNsPerSecond}; }

}  // namespace

ControlChannel::ControlChannel(int fd, EventBell* bell, QueryControl* control, MessageReporter* reporter,
                               std::atomic<bool>* stop)
    : reader_(fd), bell_(bell), control_(control), reporter_(reporter), stop_(stop), thread_([this] { run(); }) {}

ControlChannel::~ControlChannel() {
  ending_ = true;
  thread_.join();
}

void ControlChannel::run() {
  while (!ending_) {
    const bool readable = wait();
    const int64_t now_ns = monotonic_ns();
    if (readable || now_ns >= next_look_ns()) {
      looked_at_ns_ = now_ns;
      looks_often_ = control_->look();
    }
    // A command may have started work that look() must continue.
    looks_often_ |= readable;
    if (readable && !read_more()) {
      control_->abandon_all();
      stop_->store(true);
      reads_ = false;
    }
  }
  control_->forward_events();
  control_->look();
}

int64_t ControlChannel::next_look_ns() const { return looked_at_ns_ + (looks_often_ ? kLookOftenNs : kLookEveryNs); }

// Forwards a batch of events. If there are none, waits until an event occurs, a command can be read, or the queries
// must be checked. Returns true if a command can be read.
bool ControlChannel::wait() {
  pollfd inputs[] = {{reads_ ? reader_.fd() : -1, POLLIN, 0}, {bell_->fd(), POLLIN, 0}};
  const int64_t now_ns = monotonic_ns();
  // It is too early for the next batch, so the bell is not armed.
  if (const int64_t pause_ns = forwarded_at_ns_ + kBatchEveryNs - now_ns; pause_ns > 0) {
    const timespec pause = duration_of(pause_ns);
    ppoll(inputs, 1, &pause, nullptr);
  }
  bell_->arm();
  if (control_->forward_events()) {
    forwarded_at_ns_ = monotonic_ns();
    bell_->disarm();
    poll(inputs, 1, 0);
  } else {
    const timespec rest = duration_of(std::max<int64_t>(0, next_look_ns() - now_ns));
    ppoll(inputs, 2, &rest, nullptr);
    bell_->disarm();
  }
  return inputs[0].revents != 0;
}

// Executes the commands that have arrived. Returns false at the end of the input.
bool ControlChannel::read_more() {
  std::vector<CommandReader::Command> commands;
  const bool has_more = reader_.read(&commands);
  for (const CommandReader::Command& command : commands) {
    if (command.ok()) {
      execute(*command);
    } else {
      reporter_->query_refused("", command.status());
    }
  }
  return has_more;
}

void ControlChannel::execute(const v1::MonitorCommand& command) {
  std::string name;
  Status status;
  switch (command.command_case()) {
    case v1::MonitorCommand::kAssign:
      name = command.assign().plan().query();
      status = control_->add_query(command.assign().plan());
      if (status.ok()) return reporter_->query_added(name);
      break;
    case v1::MonitorCommand::kEnd:
      name = command.end().query();
      status = command.end().abandon() ? control_->abandon_query(name) : control_->end_query(name);
      break;
    case v1::MonitorCommand::kLimit:
      name = command.limit().query();
      status = control_->limit_query(name, command.limit().rate());
      break;
    case v1::MonitorCommand::kCredit:
      name = command.credit().query();
      status = control_->credit_query(name, command.credit().packets(), command.credit().version());
      break;
    case v1::MonitorCommand::kMirrored:
      name = command.mirrored().query();
      status = control_->confirm_copies(name);
      break;
    case v1::MonitorCommand::kCopiesLost:
      status = control_->lose_copies(command.copies_lost().incarnation(), command.copies_lost().packets());
      break;
    case v1::MonitorCommand::kTriggers:
      return control_->change_triggers(command.triggers());
    case v1::MonitorCommand::kRoutes:
      return control_->change_routes(command.routes());
    case v1::MonitorCommand::COMMAND_NOT_SET:
      status = Status::invalid("this monitor does not know the command");
  }
  if (!status.ok()) reporter_->query_refused(name, status);
}

}  // namespace tapline
