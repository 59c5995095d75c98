// DPDK's environment abstraction layer (EAL), started once per process, when the first port is opened.
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

// Starts DPDK with hugepages if they are allowed and `memory_mib` of them are free, otherwise with ordinary memory;
// warns if they are allowed but not free. Does not bind the calling thread to a core. After a successful call, further
// calls only add a device or port; the environment keeps its memory.
Status start_eal(const EalOptions& options);

// Returns the last line that DPDK logged, as the end of an error message ("; DPDK says: …"), or an empty string.
std::string eal_reason();

}  // namespace tapline
