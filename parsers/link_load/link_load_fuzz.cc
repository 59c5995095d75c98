#include "parsers/link_load/link_load.h"
#include "parsers/testing/fuzz_packets.h"

// Runs the same bytes as TCP segments that pass through a slow port, and as datagrams.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tapline::Value;
  std::vector<std::unique_ptr<tapline::Parser>> parsers;
  parsers.push_back(tapline::make_link_load(8));
  parsers[0]->set_arguments(0, std::vector<Value>{Value::u64(100'000'000), Value::u64(1'000'000), Value::i64(0),
                                                  Value::i64(tapline::kNsPerMs)});
  tapline::testing::fuzz_packets(std::move(parsers), {data, size});
  tapline::testing::fuzz_datagrams({"link_load"}, 53, {data, size});
  return 0;
}
