#include "monitors/config/flags.h"

#include <array>

namespace tapline {
namespace {

using Action = CommandLine::Action;

struct NamedAction {
  CommandLineAction flag;
  Action action;
};
constexpr std::array<NamedAction, 6> kActions = {
    {{{"list-parsers", "the catalogue of parsers and their fields, as JSON"}, Action::kListParsers},
     {{"check", "say whether the settings are right, and exit"}, Action::kCheck},
     {{"check-captures", "say whether the files of --pcap and --tap can be read as captures, and exit"},
      Action::kCheckCaptures},
     {{"dump", "print the effective settings as YAML, and exit"}, Action::kDump},
     {{"version", "print the version, and exit"}, Action::kVersion},
     {{"help", "print this help, and exit"}, Action::kHelp}}};

std::vector<CommandLineAction> Flags() {
  std::vector<CommandLineAction> flags;
  for (const NamedAction& action : kActions) flags.push_back(action.flag);
  return flags;
}

}  // namespace

Status ParseCommandLine(std::span<const std::string> arguments, CommandLine* command_line) {
  std::string action;
  Status status = ParseArguments(arguments, Flags(), TableOf(&command_line->config), &action);
  for (const NamedAction& each : kActions) {
    if (each.flag.flag == action) command_line->action = each.action;
  }
  return status;
}

std::string HelpText() {
  MonitorConfig defaults;
  return "Usage: tapline-monitor (--pcap FILE… | --interface IF | --tap TAP… | --vdev DEV | --port PCI) (--parser "
         "NAME… | --plan FILE… | --control)\n\nTurns packets into tuples: JSON lines on standard output, or batches in "
         "Kafka.\n" +
         HelpOf(TableOf(&defaults), Flags()) +
         "\nSIGTERM and SIGINT end it cleanly; a second one at once. Exit codes: 0 done, 1 failed, 2 wrong usage.\n";
}

}  // namespace tapline
