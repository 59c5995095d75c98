// Headers of all packets that the lanes poll, for a MultiLog node in another process (multilog/headers/header_feed.h):
// each lane's source is wrapped in one that also writes rows.
//
//   source ─▶ tapped source ─▶ lane        a thread looks for the node, ten times a second, and follows what it wants
//                  └▶ HeaderCapture ═ring═▶ node
//
// While there is no node, packets go by and are counted for when there is one.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "packet_io/source/packet_source.h"
#include "multilog/headers/header_feed.h"

namespace tapline {

class HeaderTap {
 public:
  // Wraps the sources in place; they outlive it. Warnings are of what the user should know, each told once.
  HeaderTap(std::string directory, const HashKey& hash_key, std::function<void(const std::string&)> warn,
            std::vector<std::unique_ptr<PacketSource>>* sources);
  // REQUIRES: no lane polls any more.
  ~HeaderTap();

  // Joins the node, if it is there, and goes on looking.
  void Start();

 private:
  class TappedSource;
  void Look();
  void Join();
  void Leave();

  std::string directory_;
  HashKey hash_key_;
  std::function<void(const std::string&)> warn_;
  std::string warned_;
  std::vector<TappedSource*> taps_;
  std::unique_ptr<multilog::FeedWriter> feed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tapline
