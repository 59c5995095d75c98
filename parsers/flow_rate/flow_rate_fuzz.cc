#include "parsers/testing/fuzz_packets.h"

// The same bytes as TCP segments and as datagrams.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_parsers({"flow_rate"}, {data, size});
  tapline::testing::fuzz_datagrams({"flow_rate"}, 53, {data, size});
  return 0;
}
