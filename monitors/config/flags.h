// The command line: the action, and settings that override those of a file.
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

// `arguments` excludes the program's name. --config is read first wherever it stands, so every flag overrides it; a
// list given as flags replaces the file's list.
Status parse_command_line(std::span<const std::string> arguments, CommandLine* command_line);

std::string help_text();

}  // namespace tapline
