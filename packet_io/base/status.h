// The outcome of an operation: a code, and a message for the user unless it succeeded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tapline {

enum class Code : uint8_t {
  kOk,
  kUsage,       // wrong flags or configuration: exit code 2
  kInvalid,     // an input, expression, schema or option that can't be used
  kNotFound,    // there is no object with this name
  kExists,      // the name is already used
  kInUse,       // another object depends on it
  kResources,   // the host, or another server, lacks a required service
  kMemoryFull,  // the configured memory limit is reached
  kDiskFull,    // no more data can be made durable; stored data stays readable
  kIoError,     // the file system failed for another reason
  kCorrupt,     // bytes on disk differ from those that were written
  kFrozen,      // another caller has frozen the read tails
  kStopped,     // the log is closed
  kInternal,    // a defect in Tapline
};

constexpr std::string_view name_of(Code code) {
  constexpr std::string_view kNames[] = {"ok",      "usage",     "invalid",     "not_found", "exists",
                                         "in_use",  "resources", "memory_full", "disk_full", "io_error",
                                         "corrupt", "frozen",    "stopped",     "internal"};
  return kNames[static_cast<size_t>(code)];
}

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  // Creates the status of an error at byte `position` of a string, such as an expression.
  Status(Code code, std::string message, size_t position)
      : code_(code), message_(std::move(message)), position_(position) {}

  static Status usage(std::string message) { return {Code::kUsage, std::move(message)}; }
  static Status invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }
  static Status resources(std::string message) { return {Code::kResources, std::move(message)}; }
  static Status internal(std::string message) { return {Code::kInternal, std::move(message)}; }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  std::optional<size_t> position() const { return position_; }
  int exit_code() const { return ok() ? 0 : code_ == Code::kUsage ? 2 : 1; }
  // Returns the kind that error events contain: "user", "resources" or "internal".
  const char* kind() const {
    switch (code_) {
      case Code::kResources:
      case Code::kMemoryFull:
      case Code::kDiskFull:
      case Code::kIoError:
        return "resources";
      case Code::kInternal:
        return "internal";
      default:
        return "user";
    }
  }
  // Formats a status as in "invalid at 7: …".
  std::string to_string() const {
    std::string text(name_of(code_));
    if (position_) text += " at " + std::to_string(*position_);
    return message_.empty() ? text : text + ": " + message_;
  }
  // Returns the text for people: the message without the code's name or, if there is no message, the code's name.
  std::string sentence() const { return message_.empty() ? std::string(name_of(code_)) : message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::optional<size_t> position_;
};

// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: meant to convert
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: meant to convert
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // REQUIRES: ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace tapline
