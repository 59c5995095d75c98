// The command line: an action, and settings that override those in a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "monitors/config/config.h"
#include "packet_io/base/status.h"

namespace tapline {

struct CommandLine {
  enum class Action { kRun, kCheck, kCheckCaptures, kDump, kHelp, kVersion, kListParsers };
  Action action = Action::kRun;
  MonitorConfig config;
};

// Parses the arguments, without the program's name. --config is read first, regardless of its position, so every flag
// overrides it. A list given by flags replaces the file's list.
Status parse_command_line(std::span<const std::string> arguments, CommandLine* command_line);

std::string help_text();

}  // namespace tapline
