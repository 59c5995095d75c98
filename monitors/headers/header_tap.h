// Feeds the headers of all packets that the lanes poll to a MultiLog node in another process
// (multilog/headers/header_feed.h). Wraps each lane's source in one that also writes rows.
//
//   source ─▶ tapped source ─▶ lane        a thread checks the node and its settings ten times a second
//                  └▶ HeaderCapture ═ring═▶ node
//
// While there is no node, the tap counts the packets that pass and reports them to the next node.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "multilog/headers/header_feed.h"
#include "packet_io/base/tap.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

class HeaderTap {
 public:
  // Wraps the sources in place; they must outlive the tap. Calls `warn` whenever the warning for the user changes.
  HeaderTap(std::string directory, const HashKey& hash_key, std::vector<Tap> taps,
            std::function<void(const std::string&)> warn, std::vector<std::unique_ptr<PacketSource>>* sources);
  // REQUIRES: all lanes have stopped polling.
  ~HeaderTap();

  // Joins the node if it is present, and keeps checking for it.
  void start();

 private:
  class TappedSource;
  void look();
  void join();
  void leave();

  std::string directory_;
  HashKey hash_key_;
  std::function<void(const std::string&)> warn_;
  std::string warned_;
  std::vector<Tap> taps_;
  std::vector<TappedSource*> sources_;
  std::unique_ptr<multilog::FeedWriter> feed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tapline
