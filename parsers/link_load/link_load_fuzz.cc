#include "parsers/testing/fuzz_packets.h"

// The same bytes as TCP segments and as datagrams.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_parsers({"link_load"}, {data, size});
  tapline::testing::fuzz_datagrams({"link_load"}, 53, {data, size});
  return 0;
}
