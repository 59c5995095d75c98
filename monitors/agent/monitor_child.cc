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

// A line from a monitor is a few hundred bytes, an accounting some kilobytes.
constexpr size_t kMostLineBytes = 1 << 20;
// The child's secrets use the descriptors from this one on.
constexpr int kFirstSecret = 3;

// Both ends of a pipe; closes those that are not taken.
struct Pipe {
  int read = -1;
  int write = -1;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
};

// Closed at the end of its scope.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

// Keeps the secret in memory and not in a pipe: the monitor may open it more than once. The descriptor's number is at
// least `least`, so that it does not take the place of another secret's.
bool HoldSecret(const std::string& secret, int least, Descriptor* file) {
  Descriptor any;
  any.number = memfd_create("secret", MFD_CLOEXEC);
  if (any.number < 0) return false;
  file->number = fcntl(any.number, F_DUPFD_CLOEXEC, least);
  return file->number >= 0 && fchmod(file->number, S_IRUSR) == 0 &&
         write(file->number, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
}

int Take(int* end) {
  const int taken = *end;
  *end = -1;
  fcntl(taken, F_SETFL, fcntl(taken, F_GETFL) | O_NONBLOCK);
  return taken;
}

}  // namespace

std::string MonitorChild::SecretFile(size_t index) { return "/proc/self/fd/" + std::to_string(kFirstSecret + index); }

Status MonitorChild::Start(const std::vector<std::string>& command, const std::vector<std::string>& secrets,
                           std::unique_ptr<MonitorChild>* child) {
  std::vector<Descriptor> files(secrets.size());
  for (size_t i = 0; i < secrets.size(); ++i) {
    if (!HoldSecret(secrets[i], kFirstSecret + static_cast<int>(secrets.size()), &files[i]))
      return Status::Resources(std::string("no memory for the monitor's secrets: ") + std::strerror(errno));
  }
  Pipe commands;
  Pipe status;
  if (!commands.Open() || !status.Open()) return Status::Resources(std::string("no pipe: ") + std::strerror(errno));
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, commands.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, status.write, STDERR_FILENO);
  // This comes last: the descriptors above may have these numbers themselves, and are no longer needed.
  for (size_t i = 0; i < files.size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, files[i].number, kFirstSecret + static_cast<int>(i));
  }
  pid_t process = -1;
  const int failed = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Status::Resources(command[0] + " can't be started: " + std::strerror(failed));
  child->reset(new MonitorChild(process, Take(&commands.write), Take(&status.read)));
  return {};
}

MonitorChild::~MonitorChild() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(commands_);
  close(status_);
}

void MonitorChild::Send(const std::string& line) {
  unwritten_ += line + "\n";
  Write();
  if (unwritten_.size() > kMostUnwritten && process_ > 0) kill(process_, SIGKILL);
}

void MonitorChild::Write() {
  const ssize_t written = write(commands_, unwritten_.data(), unwritten_.size());
  if (written > 0) unwritten_.erase(0, static_cast<size_t>(written));
  // A monitor that has closed its input is about to end, which its status will show.
  if (written < 0 && errno != EAGAIN && errno != EINTR) unwritten_.clear();
}

bool MonitorChild::Read(std::vector<std::string>* lines) {
  char buffer[16384];
  const ssize_t got = read(status_, buffer, sizeof buffer);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  unread_.append(buffer, static_cast<size_t>(got));
  size_t begin = 0;
  for (size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n', begin)) {
    lines->push_back(unread_.substr(begin, end - begin));
    begin = end + 1;
  }
  unread_.erase(0, begin);
  if (unread_.size() > kMostLineBytes) unread_.clear();
  return true;
}

void MonitorChild::Stop() {
  if (process_ > 0) kill(process_, SIGTERM);
}

std::string MonitorChild::Reap() {
  int status = 0;
  // Its output has ended, so it is gone, or hopeless.
  for (int waited = 0; waited < 200 && waitpid(process_, &status, WNOHANG) == 0; waited++) {
    if (waited == 100) kill(process_, SIGKILL);
    usleep(10'000);
  }
  process_ = -1;
  if (WIFSIGNALED(status)) return "the monitor was killed by signal " + std::to_string(WTERMSIG(status));
  return "the monitor ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace tapline
