// How something went: fine, or whose fault it is and a sentence for the user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace tapline {

enum class Fault : uint8_t {
  kNone,
  kUsage,      // wrong flags or configuration: exit code 2
  kUser,       // the input can't be used
  kResources,  // the host or another server does not give what is needed
  kInternal,   // a defect of ours
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Fault fault, std::string message) : fault_(fault), message_(std::move(message)) {}

  static Status Usage(std::string message) { return {Fault::kUsage, std::move(message)}; }
  static Status User(std::string message) { return {Fault::kUser, std::move(message)}; }
  static Status Resources(std::string message) { return {Fault::kResources, std::move(message)}; }
  static Status Internal(std::string message) { return {Fault::kInternal, std::move(message)}; }

  bool ok() const { return fault_ == Fault::kNone; }
  Fault fault() const { return fault_; }
  const std::string& message() const { return message_; }
  int exit_code() const { return ok() ? 0 : fault_ == Fault::kUsage ? 2 : 1; }
  // As in the error event: "user", "resources" or "internal".
  const char* kind() const {
    return fault_ == Fault::kResources ? "resources" : fault_ == Fault::kInternal ? "internal" : "user";
  }

 private:
  Fault fault_ = Fault::kNone;
  std::string message_;
};

}  // namespace tapline
