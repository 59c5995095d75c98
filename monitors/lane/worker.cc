#include "monitors/lane/worker.h"

#include <array>
#include <bit>
#include <ctime>

#include "packet_io/base/clock.h"
#include "packet_io/source/pacer.h"

namespace tapline {
namespace {

constexpr uint32_t kMostCommands = 1024;
constexpr int64_t kLookAtOutputEveryNs = 50'000'000;

void Sleep(int64_t duration_ns) {
  timespec duration = {0, duration_ns};
  nanosleep(&duration, nullptr);
}

}  // namespace

Worker::Worker(ParserUnit* unit, PacketSource* source, uint32_t ring_packets, bool busy)
    : unit_(unit), source_(source), busy_(busy), packets_(ring_packets), commands_(kMostCommands) {}

Worker::~Worker() {
  abandon_.store(true, std::memory_order_relaxed);
  Join();
  // Commands that were never executed.
  for (auto commands = commands_.Readable(kMostCommands); !commands.empty();
       commands = commands_.Readable(kMostCommands)) {
    for (const WorkerCommand& command : commands) delete command.account;
    commands_.Pop(static_cast<uint32_t>(commands.size()));
  }
}

void Worker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Worker::Join() {
  if (thread_.joinable()) thread_.join();
}

Status Worker::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void Worker::Fail(const Status& status) {
  std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = status;
  failed_.store(true, std::memory_order_release);
}

void Worker::Run() {
  Pacer pacer(busy_);
  while (!finished_ && !abandon_.load(std::memory_order_relaxed)) {
    const size_t packets = Step();
    const int64_t now_ns = MonotonicNs();
    unit_->stage().Tick(now_ns);
    LookAtOutput(now_ns);
    if (end_under_way_) end_under_way_ = !unit_->stage().ContinueEnd();
    if (ended_ != 0 && !end_under_way_) SetDone();
    if (!failed() && !unit_->stage().status().ok()) Fail(unit_->stage().status());
    const int64_t sleep_ns = pacer.AfterPoll(packets, now_ns);
    if (sleep_ns > 0 && packets == 0 && !end_under_way_ && !finished_) Sleep(sleep_ns);
  }
  stopped_.store(true, std::memory_order_release);
}

void Worker::LookAtOutput(int64_t now_ns) {
  if (now_ns - output_seen_at_ns_ < kLookAtOutputEveryNs) return;
  output_seen_at_ns_ = now_ns;
  const OutputStats stats = unit_->stage().backlog();
  output_fill_.store(stats.fill, std::memory_order_relaxed);
  output_refused_.store(stats.refused, std::memory_order_relaxed);
}

// Processes packets up to the next command, or that command. Returns how many packets.
size_t Worker::Step() {
  const size_t packets = Parse();
  if (packets != 0) return packets;
  auto commands = commands_.Readable(1);
  if (commands.empty() || commands[0].after_packets != packets_.popped()) return 0;
  if (Obey(commands[0])) commands_.Pop(1);
  return 1;
}

size_t Worker::Parse() {
  // Reads packets first, then commands: the commands that precede a visible packet are then visible.
  auto packets = packets_.Readable(kBurstPackets);
  auto commands = commands_.Readable(1);
  if (!commands.empty()) {
    packets = packets.first(std::min<size_t>(packets.size(), commands[0].after_packets - packets_.popped()));
  }
  if (packets.empty()) return 0;
  unit_->stage().Process(packets);
  ReleaseBuffers(packets);
  packets_.Pop(static_cast<uint32_t>(packets.size()));
  return packets.size();
}

void Worker::ReleaseBuffers(std::span<const Packet> packets) {
  if (!source_->retains()) return;
  std::array<void*, kBurstPackets> buffers;
  for (size_t i = 0; i < packets.size(); ++i) buffers[i] = packets[i].buffer;
  source_->Release({buffers.data(), packets.size()});
}

// Returns true if the command is done: an end must be all sent before the next begins, or a slot is reused.
bool Worker::Obey(const WorkerCommand& command) {
  ParserStage& stage = unit_->stage();
  const auto query = static_cast<uint32_t>(std::countr_zero(command.queries));
  switch (command.kind) {
    case WorkerCommand::Kind::kAdvance:
      stage.Advance(command.time_ns);
      stage.Tick(MonotonicNs());
      return true;
    case WorkerCommand::Kind::kAdd:
      if (end_under_way_) return false;
      stage.AddQuery(query);
      return true;
    case WorkerCommand::Kind::kAccount:
      unit_->accounts()[query] += *command.account;
      delete command.account;
      return true;
    case WorkerCommand::Kind::kRate:
      stage.SetSamplingRate(query, command.rate);
      return true;
    case WorkerCommand::Kind::kWatched:
      stage.SetWatchedSince(query, command.time_ns);
      return true;
    case WorkerCommand::Kind::kOver:
      stage.CaptureOver();
      return true;
    case WorkerCommand::Kind::kEnd:
      if (end_under_way_) return false;
      stage.BeginEnd(command.queries);
      ended_ |= command.queries;
      end_under_way_ = true;
      return true;
    case WorkerCommand::Kind::kFinish:
      if (end_under_way_) return false;
      if (Status status = stage.Finish(); !status.ok()) Fail(status);
      finished_ = true;
      return true;
  }
  return true;
}

void Worker::SetDone() {
  const uint64_t done = unit_->stage().Done(ended_);
  ended_ &= ~done;
  done_.fetch_or(done, std::memory_order_release);
}

}  // namespace tapline
