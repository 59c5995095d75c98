#include "parsers/decode/packet_digest.h"
#include "parsers/queue_flows/queue_flows.h"
#include "parsers/testing/fuzz_packets.h"

// The first bytes of a payload say at which side of which queue its packet is seen.
static tapline::QueueView view_of(const tapline::Packet& packet) {
  tapline::QueueView view;
  const auto payload = packet.payload();
  if (payload.empty()) return view;
  view.side = static_cast<tapline::QueueView::Side>(payload[0] % 3);
  view.queue = payload[0] / 3 % 3;  // one more than there are
  view.digest = payload[0] % 8 == 0 ? payload.size() : tapline::digest_of(packet, {1, 2});
  return view;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tapline::QueueFlowsOptions options;
  options.delay_ns = 0;
  options.share = 0;
  options.queues = {"a", "b"};
  options.view_of = view_of;
  options.match.max_packets = 16;
  options.match.max_unsettled = 8;
  options.contents.max_flows = 4;
  std::vector<std::unique_ptr<tapline::Parser>> parsers;
  parsers.push_back(tapline::make_queue_flows(options));
  tapline::testing::fuzz_packets(std::move(parsers), {data, size});
  return 0;
}
