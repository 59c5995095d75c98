// Code shared by the programs' main functions.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "packet_io/base/status.h"
#include "packet_io/config/config_table.h"

namespace tapline {

// The actions of a program that serves until a signal ends it.
inline constexpr std::array<CommandLineAction, 4> kServiceActions = {
    {{"check", "check the settings, and exit"},
     {"dump", "print the effective settings as YAML, and exit"},
     {"version", "print the version, and exit"},
     {"help", "print this help, and exit"}}};

// Writes the text to standard output. Returns kResources if this fails.
Status print(const std::string& text);

// Makes SIGTERM and SIGINT set the returned flag; a second signal ends the process immediately. Ignores SIGPIPE, so
// writing to a closed connection fails with an error.
const std::atomic<bool>& handle_stop_signals();

}  // namespace tapline
