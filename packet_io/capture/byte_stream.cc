#include "packet_io/capture/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tapline {
namespace {

constexpr std::array<uint8_t, 4> kZstdMagic = {0x28, 0xB5, 0x2F, 0xFD};
constexpr int kZstdWindowLog = 27;

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, uint64_t size) : fd_(fd), size_(size) {}
  ~FileSource() override { close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t read(std::span<uint8_t> out) override {
    if (!peeked_.empty()) return take_peeked(out);
    ssize_t bytes_read;
    do {
      bytes_read = ::read(fd_, out.data(), out.size());
    } while (bytes_read < 0 && errno == EINTR);
    if (bytes_read < 0) error_ = errno;
    position_ += bytes_read > 0 ? bytes_read : 0;
    return bytes_read > 0 ? bytes_read : 0;
  }

  // Returns the first `count` bytes, or fewer if there are no more. read() returns them again.
  std::span<const uint8_t> peek(size_t count) {
    std::vector<uint8_t> bytes(count);
    size_t filled = 0;
    while (filled < count) {
      size_t got = read(std::span(bytes).subspan(filled));
      if (got == 0) break;
      filled += got;
    }
    bytes.resize(filled);
    peeked_ = std::move(bytes);
    return peeked_;
  }

  CaptureFault fault() const override { return error_ == 0 ? CaptureFault::kNone : CaptureFault::kReadFailed; }
  std::string fault_detail() const override { return error_ == 0 ? "" : std::strerror(error_); }
  uint64_t file_position() const override { return position_; }
  uint64_t file_size() const override { return size_; }

 private:
  size_t take_peeked(std::span<uint8_t> out) {
    size_t count = std::min(out.size(), peeked_.size());
    std::memcpy(out.data(), peeked_.data(), count);
    peeked_.erase(peeked_.begin(), peeked_.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }

  int fd_;
  uint64_t size_;
  uint64_t position_ = 0;
  int error_ = 0;
  std::vector<uint8_t> peeked_;
};

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> compressed)
      : compressed_(std::move(compressed)), context_(ZSTD_createDCtx()), input_(ZSTD_DStreamInSize()) {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  }

  size_t read(std::span<uint8_t> out) override {
    ZSTD_outBuffer target = {out.data(), out.size(), 0};
    while (target.pos == 0 && fault_ == CaptureFault::kNone) {
      if (pending_.pos == pending_.size && !read_compressed()) break;
      size_t hint = ZSTD_decompressStream(context_.get(), &target, &pending_);
      if (ZSTD_isError(hint)) {
        fail(CaptureFault::kCorrupt, ZSTD_getErrorName(hint));
      } else {
        frame_open_ = hint != 0;
      }
    }
    return target.pos;
  }

  CaptureFault fault() const override { return fault_; }
  std::string fault_detail() const override { return detail_; }
  uint64_t file_position() const override { return compressed_->file_position(); }
  uint64_t file_size() const override { return compressed_->file_size(); }

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  bool read_compressed() {
    pending_ = {input_.data(), compressed_->read(input_), 0};
    if (pending_.size > 0) return true;
    if (compressed_->fault() != CaptureFault::kNone) {
      fail(compressed_->fault(), compressed_->fault_detail());
    } else if (frame_open_) {
      fail(CaptureFault::kTruncated, "the compressed data ends within a frame");
    }
    return false;
  }

  void fail(CaptureFault fault, std::string detail) {
    fault_ = fault;
    detail_ = std::move(detail);
  }

  std::unique_ptr<ByteSource> compressed_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::vector<uint8_t> input_;
  ZSTD_inBuffer pending_ = {nullptr, 0, 0};
  bool frame_open_ = false;
  CaptureFault fault_ = CaptureFault::kNone;
  std::string detail_;
};

CaptureError open_error(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {CaptureFault::kNotFound, 0, path + ": there is no such file; check the path"};
    case EACCES:
    case EPERM:
      return {CaptureFault::kNoPermission, 0, path + ": permission denied; run as a user who may read it"};
    default:
      return {CaptureFault::kReadFailed, 0, path + ": can't be opened: " + std::strerror(error)};
  }
}

}  // namespace

std::unique_ptr<ByteSource> open_byte_source(const std::string& path, CaptureError* error) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    *error = open_error(path, errno);
    return nullptr;
  }
  struct stat info = {};
  fstat(fd, &info);
  auto file = std::make_unique<FileSource>(fd, S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0);
  if (S_ISDIR(info.st_mode)) {
    *error = {CaptureFault::kNotAFile, 0, path + ": is a directory; list its capture files individually"};
    return nullptr;
  }
  if (S_ISREG(info.st_mode)) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  auto head = file->peek(kZstdMagic.size());
  if (file->fault() != CaptureFault::kNone) {
    *error = {CaptureFault::kReadFailed, 0, path + ": can't be read: " + file->fault_detail()};
    return nullptr;
  }
  if (std::equal(head.begin(), head.end(), kZstdMagic.begin(), kZstdMagic.end())) {
    return std::make_unique<ZstdSource>(std::move(file));
  }
  return file;
}

ByteWindow::ByteWindow(std::unique_ptr<ByteSource> source) : source_(std::move(source)), buffer_(kInitialBytes) {}

void ByteWindow::make_room(size_t wanted) {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (wanted > buffer_.size()) buffer_.resize(std::min(std::max(wanted, 2 * buffer_.size()), kMaxWindowBytes));
}

bool ByteWindow::fill(size_t wanted) {
  make_room(wanted);
  do {
    size_t got = source_->read(std::span(buffer_).subspan(end_));
    if (got == 0) at_end_ = true;
    end_ += got;
  } while (end_ < wanted && !at_end_ && end_ < buffer_.size());
  return end_ >= wanted;
}

}  // namespace tapline
