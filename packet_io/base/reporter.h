// Reports events to people or programs, one per line, usually on standard error. Must not be used on the packet path.
//
//   people:    warning: … / error: …
//   programs:  {"event":"ready"}, {"event":"warning","message":…},
//              {"event":"error","message":…,"kind":"user|resources|internal"}
//
// A monitor reports more (monitors/control/message_reporter.h). Thread-safe; each line is written as a whole.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "packet_io/base/status.h"

namespace tapline {

class Reporter {
 public:
  enum class Format : uint8_t { kText, kJson };

  Reporter(int fd, Format format) : fd_(fd), format_(format) {}
  virtual ~Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  virtual void ready();
  virtual void warning(const std::string& message);
  virtual void error(const Status& status);

 protected:
  Format format() const { return format_; }
  // Writes one or more lines.
  void write(const std::string& lines);
  // Writes a line for people, after the program's name.
  void print(const std::string& text);

 private:
  std::mutex mutex_;
  int fd_;
  Format format_;
};

}  // namespace tapline
