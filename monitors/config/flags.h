// The command line: what to do, and settings over those of a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "packet_io/base/status.h"
#include "monitors/config/config.h"

namespace tapline {

struct CommandLine {
  enum class Action { kRun, kCheck, kCheckCaptures, kDump, kHelp, kVersion, kListParsers };
  Action action = Action::kRun;
  MonitorConfig config;
};

// `arguments` without the program's name. --config is read first wherever it stands, so that every flag overrides it; a
// list given as flags replaces the file's.
Status ParseCommandLine(std::span<const std::string> arguments, CommandLine* command_line);

std::string HelpText();

}  // namespace tapline
