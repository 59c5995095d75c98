// tapline-packets SCENARIO FOLDER [SETTING=VALUE…]: runs the scenario and writes a capture for each receiving host, and
// the truth.
#include <cstdio>
#include <filesystem>

#include "sim/packets/scenario.h"

namespace tapline::packets {
namespace {

int Usage() {
  std::fprintf(stderr,
               "Usage: tapline-packets SCENARIO FOLDER [queue=PACKETS] [timeout=MS] [seconds=S] [window=BYTES] "
               "[jitter=NS] [processing=NS] [apart=US]\n\nScenarios:\n");
  for (const Scenario& each : Scenarios()) std::fprintf(stderr, "  %-18s%s\n", each.name.c_str(), each.about.c_str());
  return 2;
}

int Main(int argc, char** argv) {
  const Scenario* found = argc >= 3 ? FindScenario(argv[1]) : nullptr;
  if (found == nullptr) return Usage();
  Scenario scenario = *found;
  for (int i = 3; i < argc; ++i) {
    if (!Change(argv[i], &scenario)) return Usage();
  }
  std::filesystem::create_directories(argv[2]);
  Run(scenario, argv[2]).Execute();
  return 0;
}

}  // namespace
}  // namespace tapline::packets

int main(int argc, char** argv) { return tapline::packets::Main(argc, argv); }
