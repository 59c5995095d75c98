// tapline-monitor: captures packets and emits tuples.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
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
#include "packet_io/config/program.h"
#include "packet_io/source/capture_check.h"
#include "parsers/api/time.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

std::atomic<bool> stop_requested{false};
// The only process from which a supervised process accepts signals; 0: any process.
volatile sig_atomic_t supervisor_process = 0;

// Ends the run cleanly on the first signal, and immediately on the second one. A supervisor forwards its signals, so a
// signal that a terminal or a service manager sends to the whole group must not count twice.
void on_signal(int signal, siginfo_t* info, void*) {
  if (supervisor_process != 0 && info->si_pid != supervisor_process) return;
  if (stop_requested.exchange(true)) _exit(128 + signal);
}

void handle_signals() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // Writing to a closed pipe must be reported as an error instead of killing the process.
  signal(SIGPIPE, SIG_IGN);
}

Status check(const MonitorConfig& config) {
  Status status = validate(config);
  HashKeys keys;
  if (status.ok()) status = read_hash_keys(config.hash_key_file, &keys);
  BrokerLogin login;
  if (status.ok()) status = read_broker_login(config.broker_login_file, &login);
  return status.ok() ? check_monitor(config) : status;
}

// Executes the actions that need parsers, including those of plug-ins. `page` belongs to the supervisor, if there is
// one.
Status act_with_parsers(const CommandLine& line, MessageReporter* reporter, MonitorPage* page) {
  if (page != nullptr) {
    page->lanes[0].thread_id.store(gettid());
    set_call_mark(&page->lanes[0].call);
  }
  if (Status status = load_plugins(line.config.plugin, page); !status.ok()) return status;
  switch (line.action) {
    case CommandLine::Action::kListParsers:
      return print(catalogue_json() + "\n");
    case CommandLine::Action::kCheck:
      return check(line.config);
    default:
      return run_monitor(line.config, reporter, &stop_requested, page);
  }
}

Reporter::Format format_of(const MonitorConfig& config) {
  return config.status == "json" ? Reporter::Format::kJson : Reporter::Format::kText;
}

bool supervised(const MonitorConfig& config) {
  return config.supervise == "always" || (config.supervise == "auto" && !config.plugin.empty());
}

int supervise(const CommandLine& line, Reporter* reporter) {
  if (line.config.lanes > kMaxSupervisedLanes) {
    Status status = Status::usage(
        "at most 32 lanes can be supervised; use fewer lanes or, if there are no plug-ins, --supervise never");
    reporter->error(status);
    return status.exit_code();
  }
  SupervisorOptions options;
  options.watchdog_ns = line.config.watchdog_ms * kNsPerMs;
  options.plugins = line.config.plugin;
  if (line.action == CommandLine::Action::kRun) options.interfaces = interfaces_of(line.config);
  options.live = files_of(line.config).empty();
  auto work = [&](MonitorPage* page) {
    supervisor_process = getppid();
    MessageReporter own(STDIN_FILENO, format_of(line.config));
    Status status = act_with_parsers(line, &own, page);
    if (!status.ok()) own.error(status);
    return status.exit_code();
  };
  int exit_code = 0;
  Status status = Supervisor(std::move(options), reporter, &stop_requested).run(work, &exit_code);
  if (status.ok()) return exit_code;
  reporter->error(status);
  return status.exit_code();
}

int act(CommandLine line, MessageReporter* reporter) {
  Status status;
  switch (line.action) {
    case CommandLine::Action::kHelp:
      status = print(help_text());
      break;
    case CommandLine::Action::kVersion:
      status = print("tapline-monitor " TAPLINE_VERSION "\n");
      break;
    case CommandLine::Action::kDump:
      status = print(dump_yaml(table_of(&line.config)));
      break;
    case CommandLine::Action::kCheckCaptures:
      status = validate_input(line.config);
      if (status.ok()) status = check_captures(files_of(line.config));
      break;
    case CommandLine::Action::kRun:
      status = validate(line.config);
      // Read only once: restarted workers inherit the secrets, even if the files have changed since.
      if (status.ok()) status = read_hash_keys(line.config.hash_key_file, &line.config.hash_keys);
      if (status.ok()) status = read_broker_login(line.config.broker_login_file, &line.config.broker_login);
      if (!status.ok()) break;
      handle_signals();
      [[fallthrough]];
    default:
      if (supervised(line.config)) return supervise(line, reporter);
      status = act_with_parsers(line, reporter, nullptr);
  }
  if (!status.ok()) reporter->error(status);
  return status.exit_code();
}

int main(int argc, char** argv) {
  // The monitor's files and sockets, including DPDK's, give access to other users' packets.
  umask(S_IRWXG | S_IRWXO);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  CommandLine line;
  Status status = parse_command_line(arguments, &line);
  MessageReporter reporter(STDIN_FILENO, format_of(line.config));
  if (status.ok()) return act(line, &reporter);
  reporter.error(status);
  return status.exit_code();
}

}  // namespace
}  // namespace tapline

int main(int argc, char** argv) { return tapline::main(argc, argv); }
