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

// A line for people. It names the program, which may be an agent.
std::string Said(const std::string& what) {
  return std::string(program_invocation_short_name) + ": " + readable_text(what) + "\n";
}

}  // namespace

// Ignores a failed write, which there is no way to report.
void Reporter::Write(const std::string& line) {
  std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < line.size()) {
    ssize_t written = write(fd_, line.data() + done, line.size() - done);
    if (written <= 0) return;
    done += static_cast<size_t>(written);
  }
}

void Reporter::Ready() {
  if (format_ == Format::kJson) Write(Line({{"event", "ready"}}));
}

void Reporter::Restarted(uint32_t restarts, int64_t took_ms) {
  if (format_ == Format::kJson) {
    Write(Line({{"event", "restarted"}, {"restarts", restarts}, {"took_ms", took_ms}}));
  }
}

void Reporter::Progress(uint64_t packets, uint64_t bytes, std::optional<double> fraction) {
  if (format_ != Format::kJson) return;
  ordered_json event = {{"event", "progress"}, {"packets", packets}, {"bytes", bytes}};
  if (fraction) event["fraction"] = *fraction;
  Write(Line(event));
}

void Reporter::Warning(const std::string& message) {
  Write(format_ == Format::kJson ? Line({{"event", "warning"}, {"message", message}}) : Said("warning: " + message));
}

void Reporter::Error(const Status& status) {
  Write(format_ == Format::kJson ? Line({{"event", "error"}, {"message", status.Sentence()}, {"kind", status.kind()}})
                                 : Said("error: " + status.Sentence()));
}

void Reporter::QueryAdded(const std::string& query) {
  Write(format_ == Format::kJson ? Line({{"event", "query_added"}, {"query", query}})
                                 : Said("query " + query + " was added"));
}

void Reporter::QueryRefused(const std::string& query, const Status& status) {
  Write(
      format_ == Format::kJson
          ? Line(
                {{"event", "query_refused"}, {"query", query}, {"message", status.Sentence()}, {"kind", status.kind()}})
          : Said("refused: " + status.Sentence()));
}

void Reporter::QueryEnded(const std::string& query, const std::string& accounting_json) {
  const std::string name = ordered_json(query).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  Write(format_ == Format::kJson
            ? "{\"event\":\"query_ended\",\"query\":" + name + ",\"accounting\":" + accounting_json + "}\n"
            : Said("query " + query + " has ended"));
}

void Reporter::Credits(const std::string& query, const CreditState& state) {
  if (format_ != Format::kJson) return;
  Write(Line({{"event", "credits"},
              {"query", query},
              {"version", state.version},
              {"granted", state.granted},
              {"taken", state.taken},
              {"wanting", state.wanting},
              {"refused", state.refused}}));
}

void Reporter::Limited(const std::string& query, double rate) {
  if (format_ != Format::kJson) return;
  Write(Line({{"event", "limited"}, {"query", query}, {"rate", rate}}));
}

void Reporter::Copies(uint64_t incarnation, uint64_t packets, int64_t until_ns) {
  if (format_ != Format::kJson) return;
  Write(Line({{"event", "copies"}, {"incarnation", incarnation}, {"packets", packets}, {"until_ns", until_ns}}));
}

void Reporter::End(const std::string& accounting_json, const std::string& summary) {
  Write(format_ == Format::kJson ? "{\"event\":\"end\",\"accounting\":" + accounting_json + "}\n"
                                 : readable_lines(summary));
}

}  // namespace tapline
