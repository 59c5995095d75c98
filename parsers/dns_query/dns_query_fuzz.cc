#include "parsers/testing/fuzz_packets.h"

// The first byte selects the transport: UDP on the DNS port, UDP on another port, or TCP.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> input = {data + 1, size - 1};
  if (data[0] % 3 == 2) {
    tapline::testing::fuzz_parsers({"dns_query"}, input);
  } else {
    tapline::testing::fuzz_datagrams({"dns_query"}, data[0] % 3 == 0 ? 53 : 8053, input);
  }
  return 0;
}
