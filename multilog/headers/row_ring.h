// A bounded queue of batches of rows from one thread to one other, of the same process or of another one: it lies in
// memory that both map.
//
//   producer   Reserve() → rows written in place → Commit()      tail (release)
//   consumer   Front() → Take() → Pop()                          tail (acquire), the rows, then head (release)
//
// Either may die at any instruction, and another attach in its place: what was not committed is not there, and a batch
// that was taken is not seen a second time.
//
// The memory is trusted to be written by our own programs, yet whatever stands in it, nobody reads or writes outside of
// the ring: sizes are checked once, when it is attached, and kept apart; a batch's number of rows is clamped.
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

  // In memory of this process alone.
  static Result<std::unique_ptr<RowRing>> Make(const Shape& shape);
  // In a new file (of /dev/shm or another tmpfs), for another process to attach. kExists if there is one.
  static Result<std::unique_ptr<RowRing>> Create(const std::string& path, const Shape& shape);
  // kInvalid if it is no ring, or one of rows of another length.
  static Result<std::unique_ptr<RowRing>> Attach(const std::string& path, uint32_t row_bytes);
  ~RowRing();
  RowRing(const RowRing&) = delete;
  RowRing& operator=(const RowRing&) = delete;

  const Shape& shape() const { return shape_; }

  // Producer: where the next batch_rows rows go; null if the consumer is behind by the whole ring.
  uint8_t* Reserve();
  // Producer: so many rows were written there. REQUIRES: Reserve() gave memory, rows <= batch_rows.
  void Commit(uint32_t rows);
  // Producer: nothing more will come.
  void Close();
  // Producer: packets that were not put in, to be told at the other end.
  void AddDropped(uint64_t rows);

  // Consumer: the oldest batch; null if there is none.
  const uint8_t* Front(uint32_t* rows);
  // Consumer: that batch is counted as taken, whatever becomes of it. REQUIRES: Front() gave one.
  void Take();
  void Pop();
  // Consumer, once after Attach(): leaves out what the one before had taken and not popped.
  void SkipTaken();
  // Consumer: Close() was called and all has been popped.
  bool Ended() const;

  // Consumer: sleeps until there may be a batch, or somebody wakes it; where the producer may be another process, for
  // so long.
  void Await(int64_t elsewhere_ns);
  // Any thread of this process.
  void Wake();

  // Any: rows ever committed, taken, popped, and not put in.
  uint64_t committed() const;
  uint64_t taken() const;
  uint64_t popped() const;
  uint64_t dropped() const;

 private:
  struct Shared;
  struct Batch;
  RowRing(void* memory, size_t bytes, const Shape& shape);
  static Result<std::unique_ptr<RowRing>> Map(int fd, const Shape& shape);
  Batch* At(uint64_t number) const;

  void* memory_;
  size_t bytes_;
  Shape shape_;
  Shared* shared_;
  std::unique_ptr<Doorbell> bell_;  // where both ends are of this process
  uint64_t next_ = 0;               // producer: batches committed
  uint64_t head_seen_ = 0;          // producer: batches popped, as last seen
  uint64_t first_ = 0;              // consumer: batches popped
};

}  // namespace tapline::multilog
