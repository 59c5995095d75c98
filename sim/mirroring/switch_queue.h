#pragma once

#include <ns3/packet.h>
#include <ns3/queue.h>

#include <memory>

#include "sim/mirroring/port_queue.h"

namespace tapline::mirroring {

// A PortQueue as an ns-3 device's queue.
class SwitchQueue final : public ns3::Queue<ns3::Packet> {
 public:
  using Ports = PortQueue<ns3::Ptr<ns3::Packet>>;

  static ns3::TypeId GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("tapline::SwitchQueue").SetParent<ns3::Queue<ns3::Packet>>();
    return id;
  }

  void set_queue(Ports queue) { queue_ = std::make_unique<Ports>(std::move(queue)); }
  // Sets the input port of the next packet to be queued.
  void set_input(size_t input) { input_ = input; }
  const PortAccount& account() const { return queue_->account(); }
  // Returns the time of the first drop, which is negative if no packet was dropped.
  int64_t first_drop_ns() const { return first_drop_ns_; }

  bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;
  ns3::Ptr<ns3::Packet> Dequeue() override;
  // The devices of this simulation never call these functions.
  ns3::Ptr<ns3::Packet> Remove() override { return Dequeue(); }
  ns3::Ptr<const ns3::Packet> Peek() const override { return nullptr; }

 private:
  std::unique_ptr<Ports> queue_;
  size_t input_ = 0;
  int64_t first_drop_ns_ = -1;
};

}  // namespace tapline::mirroring
