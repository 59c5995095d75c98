#include "multilog/headers/row_ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "multilog/headers/system_error.h"
#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr uint64_t kRingMagic = 0x32474e4952574f52;  // "ROWRING2"
constexpr size_t kLine = 64;
constexpr uint64_t kMaxBytes = uint64_t{1} << 32;

}  // namespace

struct RowRing::Shared {
  std::atomic<uint64_t> magic;
  uint32_t row_bytes, batch_rows, batches;
  alignas(kLine) std::atomic<uint64_t> tail;  // batches committed
  std::atomic<uint64_t> committed_rows;
  std::atomic<uint64_t> dropped_rows;
  std::atomic<uint64_t> closed;
  alignas(kLine) std::atomic<uint64_t> head;  // batches popped
  std::atomic<uint64_t> popped_rows;
  std::atomic<uint64_t> taken_rows;
};

struct alignas(8) RowRing::Batch {
  uint64_t rows;
  uint64_t end;  // total rows committed, including this batch
  uint8_t bytes[];
};

namespace {

uint64_t batch_bytes(const RowRing::Shape& shape) {
  return (16 + uint64_t{shape.row_bytes} * shape.batch_rows + kLine - 1) / kLine * kLine;
}

Status check(const RowRing::Shape& shape) {
  if (shape.row_bytes == 0 || shape.batch_rows == 0 || !std::has_single_bit(shape.batches) ||
      batch_bytes(shape) * shape.batches > kMaxBytes) {
    return {Code::kInvalid,
            "a row ring must have at least one row per batch, a power of two batches, and a size of at most 4 GiB"};
  }
  return {};
}

}  // namespace

RowRing::RowRing(void* memory, size_t bytes, const Shape& shape)
    : memory_(memory), bytes_(bytes), shape_(shape), shared_(static_cast<Shared*>(memory)) {}

RowRing::~RowRing() { munmap(memory_, bytes_); }

Result<std::unique_ptr<RowRing>> RowRing::map(int fd, const Shape& shape) {
  const size_t bytes = sizeof(Shared) + batch_bytes(shape) * shape.batches;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return system_error("can't create a row ring");
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return system_error("can't map a row ring");
  auto ring = std::unique_ptr<RowRing>(new RowRing(memory, bytes, shape));
  ring->shared_->row_bytes = shape.row_bytes;
  ring->shared_->batch_rows = shape.batch_rows;
  ring->shared_->batches = shape.batches;
  ring->shared_->magic.store(kRingMagic, std::memory_order_release);
  return ring;
}

Result<std::unique_ptr<RowRing>> RowRing::make(const Shape& shape) {
  if (Status status = check(shape); !status.ok()) return status;
  const int fd = memfd_create("tapline-rows", MFD_CLOEXEC);
  if (fd < 0) return system_error("can't create a row ring");
  auto ring = map(fd, shape);
  ::close(fd);
  if (ring.ok()) (*ring)->bell_ = std::make_unique<Doorbell>();
  return ring;
}

Result<std::unique_ptr<RowRing>> RowRing::create(const std::string& path, const Shape& shape) {
  if (Status status = check(shape); !status.ok()) return status;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) return Status(Code::kExists, path + " already exists");
  if (fd < 0) return system_error(path);
  auto ring = map(fd, shape);
  ::close(fd);
  if (!ring.ok()) unlink(path.c_str());
  return ring;
}

Result<std::unique_ptr<RowRing>> RowRing::attach(const std::string& path, uint32_t row_bytes) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return Status(Code::kNotFound, path + " does not exist");
  if (fd < 0) return system_error(path);
  struct stat file = {};
  const bool is_known = fstat(fd, &file) == 0 && file.st_size >= static_cast<off_t>(sizeof(Shared));
  void* memory = MAP_FAILED;
  const auto bytes = static_cast<size_t>(file.st_size);
  if (is_known) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return Status(Code::kInvalid, path + " is not a row ring");
  const auto* shared = static_cast<const Shared*>(memory);
  const Shape shape = {shared->row_bytes, shared->batch_rows, shared->batches};
  auto ring = std::unique_ptr<RowRing>(new RowRing(memory, bytes, shape));
  if (shared->magic.load(std::memory_order_acquire) != kRingMagic || !check(shape).ok() ||
      bytes < sizeof(Shared) + batch_bytes(shape) * shape.batches) {
    return Status(Code::kInvalid, path + " is not a row ring");
  }
  if (shape.row_bytes != row_bytes) {
    return Status(Code::kInvalid, path + " has rows of " + std::to_string(shape.row_bytes) + " bytes, not " +
                                      std::to_string(row_bytes));
  }
  // Resumes from the positions that the previous producer and consumer left.
  ring->next_ = shared->tail.load(std::memory_order_acquire);
  ring->first_ = ring->head_seen_ = shared->head.load(std::memory_order_acquire);
  // A producer that died may have counted rows that it never committed.
  if (ring->next_ > 0) ring->shared_->committed_rows.store(ring->at(ring->next_ - 1)->end, std::memory_order_relaxed);
  return ring;
}

RowRing::Batch* RowRing::at(uint64_t number) const {
  auto* batches = static_cast<uint8_t*>(memory_) + sizeof(Shared);
  return reinterpret_cast<Batch*>(batches + (number & (shape_.batches - 1)) * batch_bytes(shape_));
}

uint8_t* RowRing::reserve() {
  if (next_ - head_seen_ >= shape_.batches) head_seen_ = shared_->head.load(std::memory_order_acquire);
  return next_ - head_seen_ >= shape_.batches ? nullptr : at(next_)->bytes;
}

void RowRing::commit(uint32_t rows) {
  const uint64_t end = shared_->committed_rows.load(std::memory_order_relaxed) + rows;
  at(next_)->rows = rows;
  at(next_)->end = end;
  shared_->committed_rows.store(end, std::memory_order_relaxed);
  shared_->tail.store(++next_, std::memory_order_release);
  wake();
}

void RowRing::close() {
  shared_->closed.store(1, std::memory_order_release);
  wake();
}

void RowRing::await(int64_t elsewhere_ns) {
  if (bell_ != nullptr) {
    (void)bell_->wait_until(std::numeric_limits<int64_t>::max());
    return;
  }
  sleep_for(elsewhere_ns);
}

void RowRing::wake() {
  if (bell_ != nullptr) bell_->ring();
}

void RowRing::add_dropped(uint64_t rows) { shared_->dropped_rows.fetch_add(rows, std::memory_order_relaxed); }

const uint8_t* RowRing::front(uint32_t* rows) {
  if (shared_->tail.load(std::memory_order_acquire) == first_) return nullptr;
  Batch* batch = at(first_);
  *rows = static_cast<uint32_t>(std::min<uint64_t>(batch->rows, shape_.batch_rows));
  return batch->bytes;
}

void RowRing::take() { shared_->taken_rows.store(at(first_)->end, std::memory_order_release); }

void RowRing::skip_taken() {
  uint32_t rows = 0;
  while (front(&rows) != nullptr && at(first_)->end <= taken()) pop();
}

void RowRing::pop() {
  shared_->popped_rows.store(
      shared_->popped_rows.load(std::memory_order_relaxed) + std::min<uint64_t>(at(first_)->rows, shape_.batch_rows),
      std::memory_order_relaxed);
  shared_->head.store(++first_, std::memory_order_release);
}

bool RowRing::ended() const {
  return shared_->closed.load(std::memory_order_acquire) != 0 &&
         shared_->tail.load(std::memory_order_acquire) == first_;
}

uint64_t RowRing::committed() const { return shared_->committed_rows.load(std::memory_order_relaxed); }
uint64_t RowRing::taken() const { return shared_->taken_rows.load(std::memory_order_acquire); }
uint64_t RowRing::popped() const { return shared_->popped_rows.load(std::memory_order_relaxed); }
uint64_t RowRing::dropped() const { return shared_->dropped_rows.load(std::memory_order_relaxed); }

}  // namespace tapline::multilog
