#include "packet_io/base/reporter.h"

#include <errno.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "parsers/api/text.h"

namespace tapline {
namespace {

using nlohmann::ordered_json;

std::string line(const ordered_json& event) {
  return event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

// Ignores a failed write, since there is no way to report it.
void Reporter::write(const std::string& lines) {
  std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < lines.size()) {
    ssize_t bytes_written = ::write(fd_, lines.data() + done, lines.size() - done);
    if (bytes_written <= 0) return;
    done += static_cast<size_t>(bytes_written);
  }
}

void Reporter::print(const std::string& text) {
  write(std::string(program_invocation_short_name) + ": " + readable_text(text) + "\n");
}

void Reporter::ready() {
  if (format_ == Format::kJson) write(line({{"event", "ready"}}));
}

void Reporter::warning(const std::string& message) {
  if (format_ == Format::kText) return print("warning: " + message);
  write(line({{"event", "warning"}, {"message", message}}));
}

void Reporter::error(const Status& status) {
  if (format_ == Format::kText) return print("error: " + status.sentence());
  write(line({{"event", "error"}, {"message", status.sentence()}, {"kind", status.kind()}}));
}

}  // namespace tapline
