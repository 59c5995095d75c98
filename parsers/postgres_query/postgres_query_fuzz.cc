#include "parsers/testing/fuzz_packets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_parsers({"postgres_query"}, {data, size});
  return 0;
}
