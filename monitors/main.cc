// tapline-monitor: packets in, tuples out.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "monitors/config/flags.h"
#include "monitors/monitor.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

std::atomic<bool> stop_requested{false};

// The first signal ends the run cleanly, the second one at once.
void OnSignal(int signal) {
  if (stop_requested.exchange(true)) _exit(128 + signal);
}

void HandleSignals() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // Writing to a reader that has gone is an error to be told, not an end without a word.
  signal(SIGPIPE, SIG_IGN);
}

// Standard output of everything but tuples.
Status Print(const std::string& text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? Status() : Status::Resources("writing to standard output failed");
}

Status Check(const MonitorConfig& config) {
  Status status = Validate(config);
  return status.ok() ? CheckMonitor(config) : status;
}

Status Act(const CommandLine& line, Reporter* reporter) {
  switch (line.action) {
    case CommandLine::Action::kHelp:
      return Print(HelpText());
    case CommandLine::Action::kVersion:
      return Print("tapline-monitor " TAPLINE_VERSION "\n");
    case CommandLine::Action::kListParsers:
      return Print(catalogue_json() + "\n");
    case CommandLine::Action::kDump:
      return Print(DumpYaml(line.config));
    case CommandLine::Action::kCheck:
      return Check(line.config);
    case CommandLine::Action::kRun:
      break;
  }
  if (Status status = Validate(line.config); !status.ok()) return status;
  HandleSignals();
  return RunMonitor(line.config, reporter, &stop_requested);
}

int Main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  CommandLine line;
  Status status = ParseCommandLine(arguments, &line);
  auto format = line.config.status == "json" ? Reporter::Format::kJson : Reporter::Format::kText;
  Reporter reporter(STDERR_FILENO, format);
  if (status.ok()) status = Act(line, &reporter);
  if (!status.ok()) reporter.Error(status);
  return status.exit_code();
}

}  // namespace
}  // namespace tapline

int main(int argc, char** argv) { return tapline::Main(argc, argv); }
