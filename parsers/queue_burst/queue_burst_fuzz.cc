#include "parsers/registry.h"
#include "parsers/testing/fuzz_packets.h"

// Every third packet appears on neither side of a queue.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto parser = tapline::make_parser("queue_burst");
  const tapline::TapNames taps[] = {{"s1", "1", "arrivals"}, {"s1", "1", "departures"}, {}};
  parser->set_taps(taps);
  std::vector<std::unique_ptr<tapline::Parser>> parsers;
  parsers.push_back(std::move(parser));
  tapline::testing::fuzz_packets(std::move(parsers), {data, size});
  return 0;
}
