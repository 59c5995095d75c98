#include "parsers/routes/route_feed.h"

#include <unistd.h>

#include <utility>

namespace tapline {
namespace {

// Polling interval of publish(). A reader holds routes for one burst, which takes a few microseconds.
constexpr useconds_t kPauseUs = 20;

}  // namespace

// The publisher stores `current_` before it loads `held_`, and the reader stores `held_` before it loads `current_`
// again. So either the publisher waits for this reader, or the reader sees the new routes.
const Routes* RouteFeed::Reader::enter() {
  const Routes* routes = current_->load();
  for (;;) {
    held_.store(routes);
    const Routes* latest = current_->load();
    if (latest == routes) return routes;
    routes = latest;
  }
}

RouteFeed::Reader* RouteFeed::add_reader() {
  readers_.push_back(std::make_unique<Reader>(&current_));
  return readers_.back().get();
}

void RouteFeed::publish(std::unique_ptr<const Routes> next) {
  const std::unique_ptr<const Routes> earlier = std::exchange(owned_, std::move(next));
  current_.store(owned_.get());
  if (earlier == nullptr) return;
  for (const auto& reader : readers_) {
    while (reader->held_.load() == earlier.get()) usleep(kPauseUs);
  }
}

}  // namespace tapline
