// tapline-mirroring EXPERIMENT [SETTING=VALUE…]: runs an experiment and prints its points as CSV.
#include <cstdio>
#include <cstring>

#include "sim/mirroring/experiments.h"

namespace tapline::mirroring {
namespace {

int usage() {
  std::fprintf(
      stderr,
      "Usage: tapline-mirroring EXPERIMENT [flows=N] [udp=N] [gigabits=G] [factor=F] [ms=T] [from=T] [every=US] "
      "[schedule=fifo|round_robin] [queue=BYTES] [buffer=BYTES] [alpha=A] [window=BYTES] [congested=N] "
      "[mirrored=yes|no] [hystart=yes|no] [seed=N]\n\nExperiments:\n");
  for (const Experiment& experiment : experiments())
    std::fprintf(stderr, "  %-12s%s\n", experiment.name, experiment.about);
  return 2;
}

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  for (const Experiment& experiment : experiments()) {
    if (std::strcmp(experiment.name, argv[1]) != 0) continue;
    Settings settings;
    for (int i = 2; i < argc; ++i) {
      if (!change(argv[i], &settings)) return usage();
    }
    std::printf("series,x,y\n");
    for (const Row& row : experiment.run(settings)) std::printf("%s,%.6g,%.6g\n", row.series.c_str(), row.x, row.y);
    return 0;
  }
  return usage();
}

}  // namespace
}  // namespace tapline::mirroring

int main(int argc, char** argv) { return tapline::mirroring::main(argc, argv); }
