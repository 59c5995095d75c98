// tapline-monitor: captures packets and emits tuples.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "monitors/config/broker_login_file.h"
#include "monitors/config/flags.h"
#include "monitors/control/message_reporter.h"
#include "monitors/monitor.h"
#include "monitors/plugins.h"
#include "monitors/supervisor/supervisor.h"
#include "packet_io/config/hash_key_file.h"
#include "packet_io/source/capture_check.h"
#include "parsers/api/time.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

std::atomic<bool> stop_requested{false};
// A supervised process accepts signals only from this process; 0: from all.
volatile sig_atomic_t supervisor_process = 0;

// The first signal ends the run cleanly, the second one immediately. A supervisor forwards its signals, so a signal
// that a terminal or a service manager sends to the whole group must not count twice.
void OnSignal(int signal, siginfo_t* info, void*) {
  if (supervisor_process != 0 && info->si_pid != supervisor_process) return;
  if (stop_requested.exchange(true)) _exit(128 + signal);
}

void HandleSignals() {
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // Writing to a reader that has gone must be a reported error, not a silent death.
  signal(SIGPIPE, SIG_IGN);
}

// Prints all output but tuples to standard output.
Status Print(const std::string& text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? Status() : Status::Resources("writing to standard output failed");
}

Status Check(const MonitorConfig& config) {
  Status status = Validate(config);
  HashKeys keys;
  if (status.ok()) status = ReadHashKeys(config.hash_key_file, &keys);
  BrokerLogin login;
  if (status.ok()) status = ReadBrokerLogin(config.broker_login_file, &login);
  return status.ok() ? CheckMonitor(config) : status;
}

// Executes the actions that need parsers, including those of plug-ins. `page` is that of a supervisor, if there is one.
Status ActWithParsers(const CommandLine& line, MessageReporter* reporter, MonitorPage* page) {
  if (page != nullptr) {
    page->lanes[0].thread_id.store(gettid());
    set_call_mark(&page->lanes[0].call);
  }
  if (Status status = LoadPlugins(line.config.plugin, page); !status.ok()) return status;
  switch (line.action) {
    case CommandLine::Action::kListParsers:
      return Print(catalogue_json() + "\n");
    case CommandLine::Action::kCheck:
      return Check(line.config);
    default:
      return RunMonitor(line.config, reporter, &stop_requested, page);
  }
}

Reporter::Format FormatOf(const MonitorConfig& config) {
  return config.status == "json" ? Reporter::Format::kJson : Reporter::Format::kText;
}

bool Supervised(const MonitorConfig& config) {
  return config.supervise == "always" || (config.supervise == "auto" && !config.plugin.empty());
}

int Supervise(const CommandLine& line, Reporter* reporter) {
  if (line.config.lanes > kMostSupervisedLanes) {
    Status status = Status::Usage("at most 32 lanes can be supervised; use --supervise never without plug-ins");
    reporter->Error(status);
    return status.exit_code();
  }
  SupervisorOptions options;
  options.watchdog_ns = line.config.watchdog_ms * kNsPerMs;
  options.plugins = line.config.plugin;
  if (line.action == CommandLine::Action::kRun) options.interfaces = InterfacesOf(line.config);
  options.live = FilesOf(line.config).empty();
  auto work = [&](MonitorPage* page) {
    supervisor_process = getppid();
    MessageReporter own(STDIN_FILENO, FormatOf(line.config));
    Status status = ActWithParsers(line, &own, page);
    if (!status.ok()) own.Error(status);
    return status.exit_code();
  };
  int exit_code = 0;
  Status status = Supervisor(std::move(options), reporter, &stop_requested).Run(work, &exit_code);
  if (status.ok()) return exit_code;
  reporter->Error(status);
  return status.exit_code();
}

int Act(CommandLine line, MessageReporter* reporter) {
  Status status;
  switch (line.action) {
    case CommandLine::Action::kHelp:
      status = Print(HelpText());
      break;
    case CommandLine::Action::kVersion:
      status = Print("tapline-monitor " TAPLINE_VERSION "\n");
      break;
    case CommandLine::Action::kDump:
      status = Print(DumpYaml(TableOf(&line.config)));
      break;
    case CommandLine::Action::kCheckCaptures:
      status = ValidateInput(line.config);
      if (status.ok()) status = CheckCaptures(FilesOf(line.config));
      break;
    case CommandLine::Action::kRun:
      status = Validate(line.config);
      // Read once: restarted workers inherit the secrets, whatever became of the files.
      if (status.ok()) status = ReadHashKeys(line.config.hash_key_file, &line.config.hash_keys);
      if (status.ok()) status = ReadBrokerLogin(line.config.broker_login_file, &line.config.broker_login);
      if (!status.ok()) break;
      HandleSignals();
      [[fallthrough]];
    default:
      if (Supervised(line.config)) return Supervise(line, reporter);
      status = ActWithParsers(line, reporter, nullptr);
  }
  if (!status.ok()) reporter->Error(status);
  return status.exit_code();
}

int Main(int argc, char** argv) {
  // Its files and sockets, including DPDK's, give access to other users' packets.
  umask(S_IRWXG | S_IRWXO);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  CommandLine line;
  Status status = ParseCommandLine(arguments, &line);
  MessageReporter reporter(STDIN_FILENO, FormatOf(line.config));
  if (status.ok()) return Act(line, &reporter);
  reporter.Error(status);
  return status.exit_code();
}

}  // namespace
}  // namespace tapline

int main(int argc, char** argv) { return tapline::Main(argc, argv); }
