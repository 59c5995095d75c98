#include "monitors/agent/monitor_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace tapline {
namespace {

// The descriptor of the child's first secret; the others follow it.
constexpr int kFirstSecret = 3;

// A descriptor that is closed at the end of its scope.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

// Keeps the secret in an anonymous file and not in a pipe, since the monitor may open it more than once. The file's
// descriptor is at least `min`, so that it can't be the number intended for another secret.
bool hold_secret(const std::string& secret, int min, Descriptor* file) {
  Descriptor descriptor;
  descriptor.number = memfd_create("secret", MFD_CLOEXEC);
  if (descriptor.number < 0) return false;
  file->number = fcntl(descriptor.number, F_DUPFD_CLOEXEC, min);
  return file->number >= 0 && fchmod(file->number, S_IRUSR) == 0 &&
         write(file->number, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
}

}  // namespace

std::string MonitorChild::secret_file(size_t index) { return "/proc/self/fd/" + std::to_string(kFirstSecret + index); }

Status MonitorChild::start(const std::vector<std::string>& command, const std::vector<std::string>& secrets,
                           std::unique_ptr<MonitorChild>* child) {
  std::vector<Descriptor> files(secrets.size());
  for (size_t i = 0; i < secrets.size(); ++i) {
    if (!hold_secret(secrets[i], kFirstSecret + static_cast<int>(secrets.size()), &files[i]))
      return Status::resources(std::string("not enough memory for the monitor's secrets: ") + std::strerror(errno));
  }
  Descriptor own, peer;
  if (Status status = MessageSocket::make_pair(&own.number, &peer.number); !status.ok()) return status;
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, peer.number, STDIN_FILENO);
  // The secrets come last: their numbers may belong to the socket's descriptors, which the child no longer needs.
  for (size_t i = 0; i < files.size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, files[i].number, kFirstSecret + static_cast<int>(i));
  }
  pid_t process = -1;
  const int failed = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Status::resources(command[0] + " could not be started: " + std::strerror(failed));
  child->reset(new MonitorChild(process, std::exchange(own.number, -1)));
  return {};
}

MonitorChild::~MonitorChild() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(socket_.fd());
}

bool MonitorChild::fits(const v1::MonitorCommand& command) {
  return command.ByteSizeLong() <= MessageSocket::kMaxMessageBytes;
}

void MonitorChild::send(const v1::MonitorCommand& command) {
  if (!socket_.send(command)) kill("the monitor stopped reading its commands");
}

void MonitorChild::kill(const std::string& cause) {
  if (killed_for_.empty()) killed_for_ = cause;
  if (process_ > 0) ::kill(process_, SIGKILL);
}

bool MonitorChild::read(std::vector<v1::MonitorStatus>* events) {
  while (true) {
    v1::MonitorStatus event;
    switch (socket_.receive(&event)) {
      case MessageSocket::Received::kMessage:
        if (event.has_events_lost()) kill("events of the monitor were lost");
        events->push_back(std::move(event));
        break;
      case MessageSocket::Received::kNothing:
        return true;
      case MessageSocket::Received::kTooLong:
      case MessageSocket::Received::kMalformed:
        kill("the monitor sent an invalid event");
        break;
      case MessageSocket::Received::kClosed:
        return false;
    }
  }
}

void MonitorChild::stop() {
  if (process_ > 0) ::kill(process_, SIGTERM);
}

std::string MonitorChild::reap() {
  int status = 0;
  // The monitor's output has ended, so the monitor has died or is unusable. It gets a second to exit.
  for (int waited = 0; waited < 200 && waitpid(process_, &status, WNOHANG) == 0; waited++) {
    if (waited == 100) ::kill(process_, SIGKILL);
    usleep(10'000);
  }
  process_ = -1;
  if (!killed_for_.empty()) return killed_for_;
  if (WIFSIGNALED(status)) return "the monitor was killed by signal " + std::to_string(WTERMSIG(status));
  return "the monitor ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace tapline
