// What can be known of a network interface before DPDK is started on it, so that errors are ours to word.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "packet_io/base/status.h"
#include "packet_io/dpdk/arrival_times.h"

namespace tapline {

// Fails if there is no such interface, or this process may not open packet sockets. Warns if it is down.
Status CheckInterface(const std::string& name, const std::function<void(const std::string&)>& warn);

// The net_af_packet device that reads it. Frames hold the longest segment that GRO or TSO of a virtual link commonly
// makes (45 full segments of 1500 bytes), since the driver cuts longer ones without saying so.
std::string AfPacketDevice(const std::string& interface, unsigned queues);

// When packets of one of its queues came; nothing if that can't be known.
std::optional<ArrivalTimes> AfPacketTimes(uint16_t queue);

// Packets that have come in on it since it is there, as its driver counts them: before GRO makes one of several. Of the
// namespace of this process; nothing if there is no such interface.
std::optional<uint64_t> PacketsOn(const std::string& interface);

// What a packet buffer must hold for that device.
unsigned AfPacketDataBytes();

}  // namespace tapline
