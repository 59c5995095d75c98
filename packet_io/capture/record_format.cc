#include "packet_io/capture/record_format.h"

#include "packet_io/capture/pcap_format.h"
#include "packet_io/capture/pcapng_format.h"

namespace tapline {

std::unique_ptr<RecordFormat> detect_format(std::span<const uint8_t> head) {
  if (PcapFormat::matches(head)) return std::make_unique<PcapFormat>();
  if (PcapngFormat::matches(head)) return std::make_unique<PcapngFormat>();
  return nullptr;
}

}  // namespace tapline
