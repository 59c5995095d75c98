#include "parsers/testing/fuzz_packets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_parsers({"marked_packet"}, {data, size});
  return 0;
}
