// Reads the bytes of a file in order, decompressed if necessary, through a window that only moves forward.
//
// The window is one buffer: [consumed | available | free]. fill() moves the available bytes to the front and reads more
// after them, so pointers into the window stay valid until the next fill(). Memory is bounded by the buffer (which
// grows to the largest record, at most kMaxWindowBytes) and, for .zst, by the 128 MiB window of `zstd --long=27`.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "packet_io/capture/capture_error.h"

namespace tapline {

// A source of bytes. read() returns the number of bytes that it wrote to `out`. If that is 0, fault() distinguishes the
// end from an error.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual size_t read(std::span<uint8_t> out) = 0;
  virtual CaptureFault fault() const = 0;
  virtual std::string fault_detail() const = 0;
  // Returns the number of bytes read so far from the file itself; file_size() returns the file's size (0 if it has
  // none, like a pipe).
  virtual uint64_t file_position() const = 0;
  virtual uint64_t file_size() const = 0;
};

// Opens `path` and detects its format from its first bytes, regardless of its name: plain, or Zstandard by its magic
// number. On failure, returns nullptr and fills in `error`.
std::unique_ptr<ByteSource> open_byte_source(const std::string& path, CaptureError* error);

class ByteWindow {
 public:
  static constexpr size_t kInitialBytes = 256 * 1024;
  static constexpr size_t kMaxWindowBytes = 64 * 1024 * 1024;

  explicit ByteWindow(std::unique_ptr<ByteSource> source);

  std::span<const uint8_t> available() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Returns the offset of available()[0] in the (decompressed) bytes.
  uint64_t offset_bytes() const { return offset_bytes_; }

  // REQUIRES: count <= available().size().
  void consume(size_t count) {
    begin_ += count;
    offset_bytes_ += count;
  }

  // Makes at least `wanted` bytes available, unless the source ends first. Invalidates pointers into the window.
  // Returns true if the bytes are available.
  bool fill(size_t wanted);
  // Returns true once the source has ended, so that no bytes follow the available ones.
  bool at_end() const { return at_end_; }
  const ByteSource& source() const { return *source_; }

 private:
  void make_room(size_t wanted);

  std::unique_ptr<ByteSource> source_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_bytes_ = 0;
  bool at_end_ = false;
};

}  // namespace tapline
