// Streams as the reassembler delivers them: offsets without holes, nothing after the end.
#include <cstdlib>

#include "parsers/testing/fuzz_packets.h"

namespace tapline {
namespace {

class ContractChecker final : public StreamParser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {.name = "contract_checker"};
    return schema;
  }
  Needs needs() const override { return {.packets = false, .streams = true, .connection_state_bytes = sizeof(State)}; }
  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& /*out*/) override {
    return advance(connection, side, bytes.size(), segment);
  }
  StreamVerdict on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment, Emitter&) override {
    return advance(connection, side, bytes, segment);
  }
  void on_stream_end(Connection& connection, Side side, StreamEnd, int64_t, Emitter&) override {
    if (state_of<State>(connection).ended[side]) std::abort();
    state_of<State>(connection).ended[side] = true;
  }

 private:
  struct State {
    uint64_t offset[2];
    bool ended[2];
  };

  StreamVerdict advance(Connection& connection, Side side, uint64_t bytes, const Segment& segment) {
    State& state = state_of<State>(connection);
    if (bytes == 0 || segment.offset != state.offset[side] || state.ended[side]) std::abort();
    state.offset[side] += bytes;
    // Some connections are given up half-way.
    return state.offset[side] % 97 == 96 ? StreamVerdict::kGiveUp : StreamVerdict::kContinue;
  }
};

}  // namespace
}  // namespace tapline

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::unique_ptr<tapline::Parser>> parsers;
  parsers.push_back(std::make_unique<tapline::ContractChecker>());
  tapline::testing::fuzz_packets(std::move(parsers), {data, size});
  return 0;
}
