// Checks a network interface before DPDK starts on it, so that users see Tapline's error messages instead of DPDK's.
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

// Returns the net_af_packet device that reads the interface. A frame has room for the longest segment that GRO or TSO
// of a virtual link commonly makes (45 full segments of 1500 bytes), since the driver silently truncates longer ones.
// `number` must be unique among a process's devices.
std::string af_packet_device(const std::string& interface, unsigned queues, unsigned number);

// Returns the arrival times of one queue's packets, given the device's sockets, or nullopt if they are not available.
std::optional<ArrivalTimes> af_packet_times(std::span<const int> sockets, uint16_t queue);

// Returns the number of packets that the interface has received since it was created, as its driver counts them, before
// GRO merges any. Searches this process's network namespace. Returns nullopt if there is no such interface.
std::optional<uint64_t> packets_on(const std::string& interface);

// Returns the packet buffer size that this device needs.
unsigned af_packet_data_bytes();

}  // namespace tapline
