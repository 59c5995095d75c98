// A bounded single-producer, single-consumer queue of row batches. Both threads may belong to one process or to two:
// the queue is in memory that both map.
//
//   producer   reserve() → rows written in place → commit()      tail (release)
//   consumer   front() → take() → pop()                          tail (acquire), the rows, then head (release)
//
// Either side may die at any instruction and be replaced by another one that attaches: uncommitted rows are invisible,
// and skip_taken() skips a batch that was taken.
//
// Only this project's programs are expected to write to the memory, but no content can make a program read or write
// outside the ring. Sizes are checked once, when the ring is attached, and then kept in private memory; a batch's
// number of rows is clamped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "multilog/base/doorbell.h"
#include "packet_io/base/status.h"

namespace tapline::multilog {

class RowRing {
 public:
  struct Shape {
    uint32_t row_bytes = 0;
    uint32_t batch_rows = 256;
    uint32_t batches = 256;  // a power of two
  };

  // Makes a ring in private memory of this process.
  static Result<std::unique_ptr<RowRing>> make(const Shape& shape);
  // Makes a ring in a new file (in /dev/shm or another tmpfs) for another process to attach. Returns kExists if the
  // file exists.
  static Result<std::unique_ptr<RowRing>> create(const std::string& path, const Shape& shape);
  // Attaches to a ring in a file. Returns kNotFound if there is no file, and kInvalid if it is not a ring or its rows
  // have another length.
  static Result<std::unique_ptr<RowRing>> attach(const std::string& path, uint32_t row_bytes);
  ~RowRing();
  RowRing(const RowRing&) = delete;
  RowRing& operator=(const RowRing&) = delete;

  const Shape& shape() const { return shape_; }

  // Producer: returns the memory for the next batch_rows rows, or null if the ring is full.
  uint8_t* reserve();
  // Producer: commits the rows written to the reserved memory. REQUIRES: reserve() returned memory; rows <= batch_rows.
  void commit(uint32_t rows);
  // Producer: declares that no more rows follow.
  void close();
  // Producer: counts dropped rows, for the consumer to report.
  void add_dropped(uint64_t rows);

  // Consumer: returns the oldest batch, or null if there is none.
  const uint8_t* front(uint32_t* rows);
  // Consumer: counts the batch as taken, regardless of whether it is popped later. REQUIRES: front() returned a batch.
  void take();
  void pop();
  // Consumer, once after attach(): skips the batch that the previous consumer had taken but not popped.
  void skip_taken();
  // Consumer: returns true once close() was called and every batch has been popped.
  bool ended() const;

  // Consumer: sleeps until there may be a batch or wake() is called. If the producer may be in another process, sleeps
  // for `elsewhere_ns` instead.
  void await(int64_t elsewhere_ns);
  // Any thread of this process: wakes the consumer. Has no effect on a ring in a file.
  void wake();

  // Any thread: return the total numbers of rows committed, taken, popped and dropped.
  uint64_t committed() const;
  uint64_t taken() const;
  uint64_t popped() const;
  uint64_t dropped() const;

 private:
  struct Shared;
  struct Batch;
  RowRing(void* memory, size_t bytes, const Shape& shape);
  static Result<std::unique_ptr<RowRing>> map(int fd, const Shape& shape);
  Batch* at(uint64_t number) const;

  void* memory_;
  size_t bytes_;
  Shape shape_;
  Shared* shared_;
  std::unique_ptr<Doorbell> bell_;  // set if both ends are in this process
  uint64_t next_ = 0;               // producer: batches committed
  uint64_t head_seen_ = 0;          // producer: batches popped, when head was last read
  uint64_t first_ = 0;              // consumer: batches popped
};

}  // namespace tapline::multilog
