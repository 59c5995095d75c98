// tapline-packets SCENARIO FOLDER [SETTING=VALUE…]: runs the scenario and writes a capture for each receiving host, and
// the truth.
#include <cstdio>
#include <filesystem>

#include "sim/packets/scenario.h"

namespace tapline::packets {
namespace {

int usage() {
  std::fprintf(stderr,
               "Usage: tapline-packets SCENARIO FOLDER [queue=PACKETS] [timeout=MS] [seconds=S] [window=BYTES] "
               "[jitter=NS] [processing=NS] [apart=US]\n\nScenarios:\n");
  for (const Scenario& scenario : scenarios())
    std::fprintf(stderr, "  %-18s%s\n", scenario.name.c_str(), scenario.about.c_str());
  return 2;
}

int main(int argc, char** argv) {
  const Scenario* selected = argc >= 3 ? find_scenario(argv[1]) : nullptr;
  if (selected == nullptr) return usage();
  Scenario scenario = *selected;
  for (int i = 3; i < argc; ++i) {
    if (!change(argv[i], &scenario)) return usage();
  }
  std::filesystem::create_directories(argv[2]);
  Run(scenario, argv[2]).execute();
  return 0;
}

}  // namespace
}  // namespace tapline::packets

int main(int argc, char** argv) { return tapline::packets::main(argc, argv); }
