#include "parsers/testing/fuzz_packets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_datagrams({"ip_flow"}, 53, {data, size});
  return 0;
}
