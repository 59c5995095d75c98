#include "monitors/headers/header_tap.h"

#include <array>
#include <atomic>
#include <chrono>

#include "packet_io/base/tap.h"

namespace tapline {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr auto kLaneAnswers = std::chrono::milliseconds(1);

}  // namespace

class HeaderTap::TappedSource final : public PacketSource {
 public:
  explicit TappedSource(std::unique_ptr<PacketSource> source) : source_(std::move(source)) {}

  Status start() override { return source_->start(); }
  void stop() override {
    leave_capture();
    over_.store(true, std::memory_order_release);
    source_->stop();
  }

  Burst poll(std::span<RawPacket> packets) override {
    if (wanted_.load(std::memory_order_acquire) != used_.load(std::memory_order_relaxed)) change_capture();
    const Burst burst = source_->poll(packets);
    multilog::HeaderCapture* const capture = used_.load(std::memory_order_relaxed);
    if (capture == nullptr) {
      missed_ += burst.packets;
      return burst;
    }
    capture->take(packets.first(burst.packets));
    if (burst.packets == 0 || burst.ended) capture->flush();
    return burst;
  }

  Losses read_losses() override { return source_->read_losses(); }
  // Returns one tap's losses, and passes new ones to the node, which counts all taps together.
  Losses read_losses(uint8_t tap) override {
    const Losses losses = source_->read_losses(tap);
    multilog::HeaderCapture* const capture = used_.load(std::memory_order_relaxed);
    if (capture == nullptr) return losses;
    capture->lose(losses - losses_[tap]);
    losses_[tap] = losses;
    return losses;
  }
  uint64_t late_packets(uint8_t tap) const override { return source_->late_packets(tap); }

  Status status() const override { return source_->status(); }
  bool retains() const override { return source_->retains(); }
  void retain(void* buffer, uint16_t times) override { source_->retain(buffer, times); }
  void release(std::span<void* const> buffers) override { source_->release(buffers); }
  bool live() const override { return source_->live(); }
  bool polled_times() const override { return source_->polled_times(); }
  std::optional<int64_t> idle_time_ns() const override { return source_->idle_time_ns(); }
  std::optional<double> fraction() const override { return source_->fraction(); }

  // Sets the capture that the lane uses, starting with its next burst. If `capture` is null, waits until the lane no
  // longer uses the previous one, so it must not be called on the lane's thread.
  void want(multilog::HeaderCapture* capture) {
    wanted_.store(capture);
    if (capture != nullptr) return;
    while (used_.load() != nullptr && !over_.load(std::memory_order_acquire)) std::this_thread::sleep_for(kLaneAnswers);
  }

 private:
  void leave_capture() {
    if (multilog::HeaderCapture* previous_capture = used_.load(std::memory_order_relaxed)) previous_capture->flush();
    used_.store(nullptr, std::memory_order_release);
  }

  // Publishes the capture before its first use, then checks that it is still wanted. want() sets wanted_ before it
  // reads used_, so one of the two threads sees the other's store. This needs sequential consistency.
  void change_capture() {
    leave_capture();
    multilog::HeaderCapture* capture;
    do {
      capture = wanted_.load();
      used_.store(capture);
    } while (wanted_.load() != capture);
    if (capture == nullptr) return;
    capture->wait_for_room(!source_->live());
    capture->missed_before(missed_);
    missed_ = 0;
  }

  std::unique_ptr<PacketSource> source_;
  std::atomic<multilog::HeaderCapture*> wanted_{nullptr};
  std::atomic<multilog::HeaderCapture*> used_{nullptr};
  std::atomic<bool> over_{false};
  uint64_t missed_ = 0;                  // packets that passed while there was no node
  std::array<Losses, kMaxTaps> losses_;  // by tap, as last reported to a node
};

HeaderTap::HeaderTap(std::string directory, const HashKey& hash_key, std::vector<Tap> taps,
                     std::function<void(const std::string&)> warn, std::vector<std::unique_ptr<PacketSource>>* sources)
    : directory_(std::move(directory)), hash_key_(hash_key), warn_(std::move(warn)), taps_(std::move(taps)) {
  for (auto& source : *sources) {
    auto tapped = std::make_unique<TappedSource>(std::move(source));
    sources_.push_back(tapped.get());
    source = std::move(tapped);
  }
}

HeaderTap::~HeaderTap() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void HeaderTap::start() {
  join();
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kLookEvery, [this] { return stop_; })) look();
  });
}

void HeaderTap::look() {
  if (feed_ != nullptr && !feed_->follow()) leave();
  if (feed_ == nullptr) join();
}

void HeaderTap::join() {
  auto feed = multilog::FeedWriter::join(directory_, static_cast<uint32_t>(sources_.size()), hash_key_, taps_);
  if (!feed.ok()) {
    if (warned_ != feed.status().message()) warn_("--headers-to: " + feed.status().message());
    warned_ = feed.status().message();
    return;
  }
  warned_.clear();
  feed_ = std::move(*feed);
  for (uint32_t lane = 0; lane < sources_.size(); ++lane) sources_[lane]->want(feed_->capture(lane));
}

void HeaderTap::leave() {
  for (TappedSource* source : sources_) source->want(nullptr);
  feed_.reset();
}

}  // namespace tapline
