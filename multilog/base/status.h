// What an operation came to: a code with a name that programs can hold on to, and a sentence for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tapline::multilog {

enum class Code : uint8_t {
  kOk,
  kInvalid,     // what was asked makes no sense: an expression, a schema, an option
  kNotFound,    // no filter, aggregate, trigger or index of that name
  kExists,      // the name is taken
  kInUse,       // something else depends on it
  kMemoryFull,  // the configured bound on memory is reached
  kDiskFull,    // nothing more can be made durable; what is there stays readable
  kIoError,     // the file system refused for another reason
  kCorrupt,     // bytes on disk are not what was written
  kFrozen,      // the read tails are frozen by another
  kStopped,     // the log is closed
};

constexpr std::string_view NameOf(Code code) {
  constexpr std::string_view kNames[] = {"ok",        "invalid",  "not_found", "exists", "in_use", "memory_full",
                                         "disk_full", "io_error", "corrupt",   "frozen", "stopped"};
  return kNames[static_cast<size_t>(code)];
}

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  // An error in a text, found at the byte `position`.
  Status(Code code, std::string message, size_t position)
      : code_(code), message_(std::move(message)), position_(position) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  std::optional<size_t> position() const { return position_; }
  // "invalid at 7: …"
  std::string ToString() const {
    std::string text(NameOf(code_));
    if (position_) text += " at " + std::to_string(*position_);
    return message_.empty() ? text : text + ": " + message_;
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::optional<size_t> position_;
};

// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: meant to convert
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: meant to convert
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // REQUIRES ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace tapline::multilog
