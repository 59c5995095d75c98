#include "packet_io/base/reporter.h"

#include <errno.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "parsers/api/text.h"

namespace tapline {
namespace {

using nlohmann::ordered_json;

std::string Line(const ordered_json& event) {
  return event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

// Ignores a failed write, which there is no way to report.
void Reporter::Write(const std::string& lines) {
  std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < lines.size()) {
    ssize_t written = write(fd_, lines.data() + done, lines.size() - done);
    if (written <= 0) return;
    done += static_cast<size_t>(written);
  }
}

void Reporter::Say(const std::string& what) {
  Write(std::string(program_invocation_short_name) + ": " + readable_text(what) + "\n");
}

void Reporter::Ready() {
  if (format_ == Format::kJson) Write(Line({{"event", "ready"}}));
}

void Reporter::Warning(const std::string& message) {
  if (format_ == Format::kText) return Say("warning: " + message);
  Write(Line({{"event", "warning"}, {"message", message}}));
}

void Reporter::Error(const Status& status) {
  if (format_ == Format::kText) return Say("error: " + status.Sentence());
  Write(Line({{"event", "error"}, {"message", status.Sentence()}, {"kind", status.kind()}}));
}

}  // namespace tapline
