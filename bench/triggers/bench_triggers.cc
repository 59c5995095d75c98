// Compares the cost of evaluating triggers on every packet with the cost of a pass that only reads the packets, in the
// same run. Frames are in memory. Unless a part specifies otherwise, packet time advances at 14.88 million packets per
// second, the maximum of 10 GbE, so a window of 10 ms has 148,800 packets. Rates are based on this thread's CPU time:
// the minimum of several rounds, which alternate between the subjects.
//
//   bench_triggers [--json] [--part PART] [--quick]
//
// The exit code is 1 if a packet was not counted, or an event or a window is wrong; times never affect it.
#include <cstdio>
#include <cstring>
#include <string>

#include "bench/triggers/parts.h"

namespace tapline::bench {
namespace {

struct Part {
  const char* name;
  void (*run)(Measurements*);
};

constexpr Part kParts[] = {{"rate", rate},         {"triggers", triggers},
                           {"patterns", patterns}, {"groups", groups},
                           {"coverage", coverage}, {"attack", attack},
                           {"feasible", feasible}, {"values", values},
                           {"overload", overload}, {"swap", swap},
                           {"bursts", bursts},     {"sizes", sizes},
                           {"fetches", fetches},   {"optimisations", optimisations},
                           {"sweep", sweep}};

std::string part_names() {
  std::string names;
  for (const Part& part : kParts) names += (names.empty() ? "" : ", ") + std::string(part.name);
  return names;
}

int run(const Arguments& arguments) {
  Measurements measurements(arguments);
  bool is_known = arguments.part.empty();
  for (const Part& part : kParts) {
    if (!arguments.part.empty() && arguments.part != part.name) continue;
    is_known = true;
    part.run(&measurements);
  }
  if (!is_known) {
    std::fprintf(stderr, "error: --part %s: there is no such part; use %s\n", arguments.part.c_str(),
                 part_names().c_str());
    return 2;
  }
  if (arguments.json) std::printf("%s\n", measurements.rows().dump(1).c_str());
  return measurements.failed() ? 1 : 0;
}

}  // namespace
}  // namespace tapline::bench

int main(int argc, char** argv) {
  tapline::bench::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      arguments.json = true;
    } else if (std::strcmp(argv[i], "--quick") == 0) {
      arguments.quick = true;
    } else if (std::strcmp(argv[i], "--part") == 0 && i + 1 < argc) {
      arguments.part = argv[++i];
    } else {
      std::fprintf(stderr,
                   "usage: bench_triggers [--json] [--quick] [--part PART]\n"
                   "  --json       Print rows as JSON on standard output.\n"
                   "  --quick      Run fewer rounds, and fewer points of feasible.\n"
                   "  --part PART  Only this one: %s.\n",
                   tapline::bench::part_names().c_str());
      return 2;
    }
  }
  return tapline::bench::run(arguments);
}
