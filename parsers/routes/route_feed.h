// Gives the parsers of all threads the current routes, which one thread replaces while they read (read-copy-update).
//
//   publish(new) ──▶ current ──▶ each reader's next enter()
//        └─ waits until no reader holds the earlier routes, then frees them
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "parsers/routes/routes.h"

namespace tapline {

class RouteFeed {
 public:
  // Gives one thread access to the routes. A reader holds routes only between enter() and leave(), for the duration of
  // a burst, so an idle thread delays no publication.
  class Reader {
   public:
    explicit Reader(const std::atomic<const Routes*>* current) : current_(current) {}
    // Returns the current routes, valid until leave(); null if there are none.
    const Routes* enter();
    void leave() { held_.store(nullptr, std::memory_order_release); }

   private:
    friend class RouteFeed;
    const std::atomic<const Routes*>* current_;
    std::atomic<const Routes*> held_{nullptr};
  };

  RouteFeed() = default;
  RouteFeed(const RouteFeed&) = delete;
  RouteFeed& operator=(const RouteFeed&) = delete;

  // Adds a reader, which belongs to the feed. REQUIRES: no thread publishes at the same time.
  Reader* add_reader();
  // Replaces the routes. Returns once no reader uses the earlier ones any more. REQUIRES: no other thread publishes.
  void publish(std::unique_ptr<const Routes> next);
  // Returns the latest routes, or null if there are none. Only for the thread that publishes.
  const Routes* current() const { return owned_.get(); }

 private:
  std::unique_ptr<const Routes> owned_;
  std::atomic<const Routes*> current_{nullptr};
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace tapline
