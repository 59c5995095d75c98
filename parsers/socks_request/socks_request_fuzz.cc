#include "parsers/testing/fuzz_packets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::testing::fuzz_parsers({"socks_request", "http_get"}, {data, size});
  return 0;
}
