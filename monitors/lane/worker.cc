#include "monitors/lane/worker.h"

#include <array>
#include <bit>
#include <ctime>

#include "packet_io/base/clock.h"
#include "packet_io/source/pacer.h"

namespace tapline {
namespace {

constexpr uint32_t kMaxCommands = 1024;
constexpr int64_t kLookAtOutputEveryNs = 50'000'000;

}  // namespace

Worker::Worker(ParserUnit* unit, PacketSource* source, uint32_t ring_packets, bool busy)
    : unit_(unit), source_(source), busy_(busy), packets_(ring_packets), commands_(kMaxCommands) {}

Worker::~Worker() {
  abandon_.store(true, std::memory_order_relaxed);
  join();
  // Discards commands that were never executed.
  for (auto commands = commands_.readable(kMaxCommands); !commands.empty();
       commands = commands_.readable(kMaxCommands)) {
    for (const WorkerCommand& command : commands) delete command.account;
    commands_.pop(static_cast<uint32_t>(commands.size()));
  }
}

void Worker::start() {
  thread_ = std::thread([this] { run(); });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

Status Worker::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void Worker::fail(const Status& status) {
  std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = status;
  failed_.store(true, std::memory_order_release);
}

void Worker::run() {
  Pacer pacer(busy_);
  while (!finished_ && !abandon_.load(std::memory_order_relaxed)) {
    const size_t packets = step();
    const int64_t now_ns = monotonic_ns();
    unit_->stage().tick(now_ns);
    check_output(now_ns);
    if (end_under_way_) end_under_way_ = !unit_->stage().continue_end();
    if (ended_ != 0 && !end_under_way_) set_done();
    if (!failed() && !unit_->stage().status().ok()) fail(unit_->stage().status());
    const int64_t sleep_ns = pacer.after_poll(packets, now_ns);
    const bool may_sleep = packets == 0 && !end_under_way_ && !finished_ && !unit_->stage().has_work();
    if (sleep_ns > 0 && may_sleep) sleep_for(sleep_ns);
  }
  stopped_.store(true, std::memory_order_release);
}

void Worker::check_output(int64_t now_ns) {
  if (now_ns - output_seen_at_ns_ < kLookAtOutputEveryNs) return;
  output_seen_at_ns_ = now_ns;
  const OutputStats stats = unit_->stage().backlog();
  output_fill_.store(stats.fill, std::memory_order_relaxed);
  output_refused_.store(stats.refused, std::memory_order_relaxed);
}

// Processes packets that precede the next command or, if there are none, that command. Returns the number of packets, 1
// for a command, or 0 if there was nothing to do.
size_t Worker::step() {
  const size_t packets = parse();
  if (packets != 0) return packets;
  auto commands = commands_.readable(1);
  if (commands.empty() || commands[0].after_packets != packets_.popped()) return 0;
  if (execute(commands[0])) commands_.pop(1);
  return 1;
}

size_t Worker::parse() {
  // Reads packets first, then commands: all commands that precede a visible packet are then visible, too.
  auto packets = packets_.readable(kBurstPackets);
  auto commands = commands_.readable(1);
  if (!commands.empty()) {
    packets = packets.first(std::min<size_t>(packets.size(), commands[0].after_packets - packets_.popped()));
  }
  if (packets.empty()) return 0;
  unit_->stage().process(packets);
  release_buffers(packets);
  packets_.pop(static_cast<uint32_t>(packets.size()));
  return packets.size();
}

void Worker::release_buffers(std::span<const Packet> packets) {
  if (!source_->retains()) return;
  std::array<void*, kBurstPackets> buffers;
  for (size_t i = 0; i < packets.size(); ++i) buffers[i] = packets[i].buffer;
  source_->release({buffers.data(), packets.size()});
}

// Executes the command. Returns false if it has to wait, because a query's end must be sent completely before another
// query ends or the slot is reused.
bool Worker::execute(const WorkerCommand& command) {
  ParserStage& stage = unit_->stage();
  const auto query = static_cast<uint32_t>(std::countr_zero(command.queries));
  switch (command.kind) {
    case WorkerCommand::Kind::kAdvance:
      stage.advance(command.time_ns);
      stage.tick(monotonic_ns());
      return true;
    case WorkerCommand::Kind::kLose:
      stage.lose(command.lost);
      return true;
    case WorkerCommand::Kind::kAdd:
      if (end_under_way_) return false;
      stage.add_query(query);
      return true;
    case WorkerCommand::Kind::kAccount:
      unit_->accounts()[query] += *command.account;
      delete command.account;
      return true;
    case WorkerCommand::Kind::kRate:
      stage.set_sampling_rate(query, command.rate);
      return true;
    case WorkerCommand::Kind::kWatched:
      stage.set_watched_since(query, command.time_ns);
      return true;
    case WorkerCommand::Kind::kOver:
      stage.capture_over();
      return true;
    case WorkerCommand::Kind::kEnd:
      if (end_under_way_) return false;
      stage.begin_end(command.queries);
      ended_ |= command.queries;
      end_under_way_ = true;
      return true;
    case WorkerCommand::Kind::kFinish:
      if (end_under_way_) return false;
      if (Status status = stage.finish(); !status.ok()) fail(status);
      finished_ = true;
      return true;
  }
  return true;
}

void Worker::set_done() {
  const uint64_t done = unit_->stage().done(ended_);
  ended_ &= ~done;
  done_.fetch_or(done, std::memory_order_release);
}

}  // namespace tapline
