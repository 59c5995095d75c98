// tapline-agent: runs this host's part of the control plane's queries.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "monitors/agent/agent.h"
#include "monitors/agent/agent_config.h"
#include "monitors/agent/lease_access.h"
#include "packet_io/base/loopback.h"
#include "packet_io/config/program.h"

namespace tapline {
namespace {

std::string help() {
  AgentConfig defaults;
  return "Usage: tapline-agent --name HOST (--interface IF | --vdev DEV) --control-plane HOST:PORT\n"
         "\nRuns this host's monitor for the control plane's queries, and keeps the host's lease.\n" +
         help_of(table_of(&defaults), kServiceActions) +
         "\nSIGTERM and SIGINT end all queries of this host cleanly; a second signal exits immediately.\n"
         "Exit codes: 0 success, 1 failure, 2 usage error.\n";
}

// Reads the names of the parsers that the monitor provides. This also checks that the monitor can be run.
Status read_parsers(const std::string& monitor, std::vector<std::string>* names) {
  std::FILE* output = popen(("'" + monitor + "' --list-parsers").c_str(), "re");
  std::string text;
  char buffer[4096];
  for (size_t got = 1; output != nullptr && got > 0;) {
    got = std::fread(buffer, 1, sizeof buffer, output);
    text.append(buffer, got);
  }
  if (output == nullptr || pclose(output) != 0)
    return Status::resources("--monitor " + monitor + ": can't be run; does the file exist, and is it executable?");
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  for (const nlohmann::json& parser : list.is_object() && list.contains("parsers") ? list["parsers"] : list) {
    if (parser.is_object() && parser.contains("name")) names->push_back(parser["name"]);
  }
  return names->empty() ? Status::resources("--monitor " + monitor + ": lists no parsers") : Status();
}

Status run(AgentConfig* config, Reporter* reporter) {
  const std::atomic<bool>& stop_requested = handle_stop_signals();
  // gRPC logs each attempt; the agent reports a problem once.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  if (config->monitor.empty())
    config->monitor = std::filesystem::read_symlink("/proc/self/exe").replace_filename("tapline-monitor");
  for (const std::string& service : config->clear) reporter->warning(clear_warning(service));
  std::vector<std::string> parsers;
  if (Status status = read_parsers(config->monitor, &parsers); !status.ok()) return status;
  LeaseAccess access;
  if (Status status = read_access(*config, &access); !status.ok()) return status;
  return Agent(*config, std::move(access), parsers, reporter, &stop_requested).run();
}

Status act(const std::string& action, AgentConfig* config, Reporter* reporter) {
  if (action == "help") return print(help());
  if (action == "version") return print("tapline-agent " TAPLINE_VERSION "\n");
  if (action == "dump") return print(dump_yaml(table_of(config)));
  Status status = validate(*config);
  return status.ok() && action.empty() ? run(config, reporter) : status;
}

int main(int argc, char** argv) {
  // Hides the files that the agent or its monitor writes from other users, since they may contain anyone's packets.
  umask(S_IRWXG | S_IRWXO);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  AgentConfig config;
  std::string action;
  Status status = parse_arguments(arguments, kServiceActions, table_of(&config), &action);
  Reporter reporter(STDERR_FILENO, config.status == "json" ? Reporter::Format::kJson : Reporter::Format::kText);
  if (status.ok()) status = act(action, &config, &reporter);
  if (!status.ok()) reporter.error(status);
  return status.exit_code();
}

}  // namespace
}  // namespace tapline

int main(int argc, char** argv) { return tapline::main(argc, argv); }
