// DPDK's environment, which is started once per process, and only when a port is to be read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

struct EalOptions {
  bool may_use_hugepages = true;
  uint32_t memory_mib = 256;
  // Exactly one of the two is set.
  std::string vdev;
  std::string pci_address;
  std::function<void(const std::string&)> warn;
};

// Uses hugepages if `memory_mib` of them are free, otherwise ordinary memory, with a warning if hugepages were allowed.
// Does not bind the calling thread to a core. After a successful call, another call adds the device or port to the
// running environment, whose memory stays unchanged.
Status start_eal(const EalOptions& options);

// Returns the last line that DPDK logged, for the end of an error message, or an empty string.
std::string eal_reason();

}  // namespace tapline
