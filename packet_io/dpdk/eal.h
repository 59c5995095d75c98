// DPDK's environment, started once per process and only when a port is to be read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

struct EalOptions {
  bool may_use_hugepages = true;
  uint32_t memory_mib = 256;
  // One of the two.
  std::string vdev;
  std::string pci_address;
  std::function<void(const std::string&)> warn;
};

// Takes hugepages if `memory_mib` of them are free, else ordinary memory, with a warning if hugepages were allowed.
// Does not bind the calling thread to a core. A second call in a process fails.
Status StartEal(const EalOptions& options);

// What DPDK logged last, for messages; empty if nothing.
std::string LastEalLog();

}  // namespace tapline
