#include "parsers/testing/fuzz_packets.h"

// The lowest bit of the input's first byte selects connections (0) or datagrams (1).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if ((data[0] & 1) != 0) {
    tapline::testing::fuzz_datagrams({"memcached_get"}, 11211, {data + 1, size - 1});
  } else {
    tapline::testing::fuzz_parsers({"memcached_get"}, {data + 1, size - 1});
  }
  return 0;
}
