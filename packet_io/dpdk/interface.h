// Network interfaces that DPDK reads through net_af_packet. They are checked before DPDK opens them, so that users see
// Tapline's error messages instead of DPDK's.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "packet_io/base/status.h"
#include "packet_io/dpdk/arrival_times.h"

namespace tapline {

// Fails if there is no such interface or this process may not open packet sockets. Warns if the interface is down.
Status check_interface(const std::string& name, const std::function<void(const std::string&)>& warn);

// Returns the --vdev argument for a net_af_packet device that reads the interface. Its frames have room for the longest
// packets that GRO, or TSO on a virtual link, commonly produces (45 full segments at an MTU of 1500 bytes), since the
// driver silently truncates longer ones. `number` must be unique among the process's devices.
std::string af_packet_device(const std::string& interface, unsigned queues, unsigned number);

// Returns the arrival times of one queue's packets, given the device's sockets, or nullopt if they are not available.
std::optional<ArrivalTimes> af_packet_times(std::span<const int> sockets, uint16_t queue);

// Returns the number of packets that the interface has received since it was created, as counted by its driver before
// GRO. Returns nullopt if this process's network namespace has no such interface.
std::optional<uint64_t> packets_on(const std::string& interface);

// Returns the packet buffer size that such a device needs, without headroom.
unsigned af_packet_data_bytes();

}  // namespace tapline
