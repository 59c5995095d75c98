// tapline-packets SCENARIO FOLDER: runs it and writes a capture for each receiving host, and the truth.
#include <cstdio>
#include <filesystem>

#include "sim/packets/scenario.h"

int main(int argc, char** argv) {
  using namespace tapline::packets;
  const Scenario* scenario = argc == 3 ? FindScenario(argv[1]) : nullptr;
  if (scenario == nullptr) {
    std::fprintf(stderr, "Usage: tapline-packets SCENARIO FOLDER\n\nScenarios:\n");
    for (const Scenario& each : Scenarios()) std::fprintf(stderr, "  %-18s%s\n", each.name.c_str(), each.about.c_str());
    return 2;
  }
  std::filesystem::create_directories(argv[2]);
  Run(*scenario, argv[2]).Execute();
  return 0;
}
