#include "parsers/testing/fuzz_packets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_telemetry({"queue_burst", "queue_depth", "queue_flows"}, {data, size});
  return 0;
}
