#include "monitors/plan/thread_layout.h"

#include <algorithm>
#include <charconv>

#include "parsers/registry.h"

namespace tapline {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

}  // namespace

Status ThreadLayout::add(const std::vector<std::string>& parsers, uint32_t threads) {
  WorkerLayout group{{}, threads};
  for (const std::string& name : parsers) {
    auto parser = make_parser(name);
    if (!parser) return Status::invalid("there is no parser '" + name + "' for these workers");
    const std::string& canonical = parser->schema().name;
    auto taken = [&](const WorkerLayout& worker) { return contains(worker.parsers, canonical); };
    if (contains(group.parsers, canonical) || std::any_of(workers.begin(), workers.end(), taken)) {
      return Status::invalid("parser '" + canonical + "' occurs twice in the worker groups");
    }
    group.parsers.push_back(canonical);
  }
  if (threads == 0 || threads > kMaxThreads) {
    return Status::invalid("parser '" + group.parsers.at(0) + "' can have 1 to 64 workers, not " +
                           std::to_string(threads));
  }
  // One group is reserved for the parsers that belong to no configured group.
  if (workers.size() + 1 >= kMaxGroups) return Status::invalid("at most 15 worker groups are possible");
  workers.push_back(std::move(group));
  return {};
}

Status ThreadLayout::check(std::span<const std::string> parsers) const {
  for (const std::string& name : parsers) {
    if (!make_parser(name)->schema().all_traffic) continue;
    uint32_t threads = lanes;
    for (const WorkerLayout& group : workers) {
      if (contains(group.parsers, name)) threads = group.threads;
    }
    if (threads == 1) continue;
    return Status::invalid("parser '" + name + "' must see all packets in one thread, but would run in " +
                           std::to_string(threads) + "; use a monitor with one lane for each mirror port");
  }
  return {};
}

std::vector<WorkerLayout> ThreadLayout::covering(std::span<const std::string> parsers) const {
  std::vector<WorkerLayout> groups = workers;
  WorkerLayout rest;
  for (const std::string& parser : parsers) {
    auto named = [&](const WorkerLayout& group) { return contains(group.parsers, parser); };
    if (std::none_of(workers.begin(), workers.end(), named)) rest.parsers.push_back(parser);
  }
  if (!rest.parsers.empty()) groups.push_back(std::move(rest));
  return groups;
}

Status parse_workers(std::span<const std::string> items, ThreadLayout* layout) {
  for (const std::string& item : items) {
    const size_t equals = item.find('=');
    uint32_t threads = 1;
    if (equals != std::string::npos) {
      const char* end = item.data() + item.size();
      auto [end_of_number, error] = std::from_chars(item.data() + equals + 1, end, threads);
      if (error != std::errc() || end_of_number != end) {
        return Status::invalid("workers '" + item + "': '=' must be followed by the number of threads");
      }
    }
    if (Status status = layout->add(split(item.substr(0, equals), '+'), threads); !status.ok()) return status;
  }
  return {};
}

}  // namespace tapline
