// One parsing thread of pipeline mode (NetAlytics section 5.1). Takes packets from its ring, runs its parsers on them
// and writes to its output.
//
// Commands are in a second ring, each with the number of packets that were pushed before it. The dispatcher publishes a
// command before any packet that follows it, so a worker that sees such a packet also sees the command.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "monitors/lane/parser_unit.h"
#include "monitors/lane/spsc_ring.h"
#include "packet_io/source/packet_source.h"

namespace tapline {

struct WorkerCommand {
  enum class Kind : uint8_t {
    kAdvance,  // packet time advances to time_ns
    kLose,     // reports `lost`
    kAdd,      // adds the query in `queries`
    kEnd,      // ends the queries in `queries`
    kAccount,  // adds *account to the counts of the query in `queries`; the worker deletes it
    kRate,     // samples the query in `queries` at `rate` from now on
    kWatched,  // sets time_ns as the watched-since time of the query in `queries`
    kOver,     // the capture is over
    kFinish,   // no more commands follow
  };

  Kind kind = Kind::kAdvance;
  uint32_t after_packets = 0;
  uint64_t queries = 0;
  int64_t time_ns = 0;
  LostPackets lost = {};
  Accounting* account = nullptr;
  double rate = 1;
};

class Worker {
 public:
  // `unit` and `source` must outlive the worker. The worker returns packet buffers to `source` if `source` retains
  // them.
  Worker(ParserUnit* unit, PacketSource* source, uint32_t ring_packets, bool busy);
  // Stops the thread, even without kFinish.
  ~Worker();

  void start();
  // Waits until kFinish has been executed.
  void join();

  // Dispatcher: clears these queries' bits in done(), since their slots will be reused. Must precede kAdd.
  void forget(uint64_t queries) { done_.fetch_and(~queries, std::memory_order_relaxed); }
  // Returns the dispatcher's ends of the rings.
  SpscRing<Packet>& packets() { return packets_; }
  SpscRing<WorkerCommand>& commands() { return commands_; }

  // Any thread: returns the queries that have ended in this worker and whose data have been sent.
  uint64_t done() const { return done_.load(std::memory_order_acquire); }
  // Returns the used share of the worker's output queue when it was last measured, from 0 to 1.
  double output_fill() const { return output_fill_.load(std::memory_order_relaxed); }
  uint64_t output_refused() const { return output_refused_.load(std::memory_order_relaxed); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Returns true if the worker takes no more commands.
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // Returns the worker's first failure, which may be that of finish().
  Status status() const;

 private:
  void run();
  size_t step();
  size_t parse();
  void release_buffers(std::span<const Packet> packets);
  bool execute(const WorkerCommand& command);
  void set_done();
  void check_output(int64_t now_ns);
  void fail(const Status& status);

  ParserUnit* unit_;
  PacketSource* source_;
  bool busy_;
  SpscRing<Packet> packets_;
  SpscRing<WorkerCommand> commands_;
  bool end_under_way_ = false;
  uint64_t ended_ = 0;
  bool finished_ = false;
  std::atomic<bool> abandon_{false};
  std::atomic<uint64_t> done_{0};
  int64_t output_seen_at_ns_ = 0;
  std::atomic<double> output_fill_{0};
  std::atomic<uint64_t> output_refused_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  Status status_;
  std::thread thread_;
};

}  // namespace tapline
