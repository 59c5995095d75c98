#include "packet_io/config/program.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace tapline {
namespace {

std::atomic<bool> stop_requested{false};

void on_signal(int signal) {
  if (stop_requested.exchange(true)) _exit(128 + signal);
}

}  // namespace

Status print(const std::string& text) {
  const bool was_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return was_written ? Status() : Status::resources("writing to standard output failed");
}

const std::atomic<bool>& handle_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return stop_requested;
}

}  // namespace tapline
