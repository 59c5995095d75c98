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
     {{"check", "check the settings, and exit"}, Action::kCheck},
     {{"check-captures", "check that the files of --pcap and --tap can be read as captures, and exit"},
      Action::kCheckCaptures},
     {{"dump", "print the effective settings as YAML, and exit"}, Action::kDump},
     {{"version", "print the version, and exit"}, Action::kVersion},
     {{"help", "print this help, and exit"}, Action::kHelp}}};

std::vector<CommandLineAction> flags() {
  std::vector<CommandLineAction> flags;
  for (const NamedAction& action : kActions) flags.push_back(action.flag);
  return flags;
}

}  // namespace

Status parse_command_line(std::span<const std::string> arguments, CommandLine* command_line) {
  std::string action;
  Status status = parse_arguments(arguments, flags(), table_of(&command_line->config), &action);
  for (const NamedAction& named : kActions) {
    if (named.flag.flag == action) command_line->action = named.action;
  }
  return status;
}

std::string help_text() {
  MonitorConfig defaults;
  return "Usage: tapline-monitor (--pcap FILE… | --interface IF | --tap TAP… | --vdev DEV | --port PCI) (--parser "
         "NAME… | --plan FILE… | --control)\n\nTurns packets into tuples: JSON lines on standard output, or batches in "
         "Kafka.\n" +
         help_of(table_of(&defaults), flags()) +
         "\nSIGTERM and SIGINT end it cleanly; a second signal exits immediately. Exit codes: 0 success, 1 "
         "failure, 2 usage error.\n";
}

}  // namespace tapline
