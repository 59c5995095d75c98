#include "packet_io/capture/record_format.h"

#include "packet_io/capture/pcap_format.h"
#include "packet_io/capture/pcapng_format.h"

namespace tapline {

std::unique_ptr<RecordFormat> DetectFormat(std::span<const uint8_t> head) {
  if (PcapFormat::Matches(head)) return std::make_unique<PcapFormat>();
  if (PcapngFormat::Matches(head)) return std::make_unique<PcapngFormat>();
  return nullptr;
}

}  // namespace tapline
