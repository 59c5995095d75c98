// Writes and loads the catalogue: one line per definition, with percent-escaped words, in an order in which the
// definitions can be recreated.
#include <algorithm>
#include <sstream>

#include "multilog/multilog_impl.h"

namespace tapline::multilog {
namespace {

// Percent-escapes a word of a catalogue line. The result is not empty, and has no spaces or semicolons.
std::string escaped(const std::string& text) {
  std::string out;
  char code[4];
  for (const char c : text) {
    if (c > ' ' && c != '%' && c != ';' && c < 127) {
      out += c;
    } else {
      std::snprintf(code, sizeof code, "%%%02x", static_cast<uint8_t>(c));
      out += code;
    }
  }
  return out.empty() ? "%" : out;
}
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%')
      out += text[i];
    else if (i + 2 < text.size() + 0 && text.size() > 1)
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)), i += 2;
  }
  return out;
}
std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ';';
    out += escaped(word);
  }
  return out.empty() ? "%" : out;
}
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  if (text == "%") return words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ';');) words.push_back(unescaped(word));
  return words;
}

}  // namespace

MultiLogImpl::Definitions MultiLogImpl::definitions() const {
  const std::lock_guard lock(control_);
  Definitions definitions;
  for (const auto& filter : filters_) {
    if (!filter->name.empty()) definitions.filters.emplace_back(filter->name, filter->expression.text());
  }
  for (const auto& aggregate : aggregates_) definitions.aggregates.push_back(aggregate_specs_.at(aggregate->name));
  definitions.triggers = triggers_->list();
  return definitions;
}

std::string MultiLogImpl::catalogue_text() const {
  std::ostringstream out;
  for (const Index& index : indexes_) {
    if (index.part == 0) out << index.id << " index " << escaped(index.field) << '\n';
  }
  for (const auto& filter : filters_) {
    if (!filter->name.empty())
      out << filter->id << " filter " << escaped(filter->name) << ' ' << escaped(filter->expression.text()) << '\n';
  }
  for (const auto& aggregate : aggregates_) {
    const AggregateSpec& spec = aggregate_specs_.at(aggregate->name);
    out << aggregate->id << " aggregate " << escaped(spec.name) << ' ' << escaped(spec.filter) << ' '
        << escaped(spec.function.function) << ' ' << escaped(spec.function.field) << ' '
        << joined(spec.function.group_by) << ' ' << spec.function.max_groups << ' ' << spec.bucket_ns << ' '
        << spec.buckets << ' ' << joined(spec.outputs);
    for (const double quantile : spec.function.quantiles) out << ' ' << quantile;
    out << '\n';
  }
  for (const TriggerSpec& spec : triggers_->list()) {
    out << ~uint64_t{0} << " trigger " << escaped(spec.name) << ' ' << escaped(spec.aggregate) << ' '
        << escaped(spec.condition) << ' ' << spec.window_ns << ' ' << spec.period_ns << ' '
        << static_cast<int>(spec.severity) << ' ' << spec.cooldown_ns << '\n';
  }
  // A filter may refer to an aggregate over another filter, so definitions are listed in the order of their IDs.
  std::istringstream lines(out.str());
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    sorted.emplace_back(std::stoull(line.substr(0, space)), line.substr(space + 1));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [id, line] : sorted) text += line + "\n";
  return text;
}

Status MultiLogImpl::save_catalogue() {
  if (storage_ == nullptr || loading_) return {};
  return storage_->write_catalogue(catalogue_text());
}

Status MultiLogImpl::load_definition(const std::string& line) {
  std::istringstream words(line);
  std::string kind, name, a, b, c, d, e;
  words >> kind >> name;
  name = unescaped(name);
  if (kind == "index") return add_index_locked(name, false);
  if (kind == "filter") return words >> a, add_filter_locked(name, compile(unescaped(a)));
  if (kind == "aggregate") {
    AggregateSpec spec;
    spec.name = name;
    words >> a >> b >> c >> d >> spec.function.max_groups >> spec.bucket_ns >> spec.buckets >> e;
    spec.filter = unescaped(a);
    spec.function.function = unescaped(b);
    spec.function.field = unescaped(c);
    spec.function.group_by = split(d);
    spec.outputs = split(e);
    spec.function.quantiles.clear();
    for (double quantile; words >> quantile;) spec.function.quantiles.push_back(quantile);
    return add_aggregate_locked(spec);
  }
  if (kind != "trigger") return {Code::kCorrupt, "unknown definition"};
  TriggerSpec spec;
  int severity = 1;
  words >> a >> b >> spec.window_ns >> spec.period_ns >> severity >> spec.cooldown_ns;
  spec.name = name;
  spec.aggregate = unescaped(a);
  spec.condition = unescaped(b);
  spec.severity = static_cast<Severity>(std::clamp(severity, 0, 2));
  return add_trigger_locked(spec);
}

// Recreates the definitions, and reports each one that can't be recreated as a separate problem.
Status MultiLogImpl::load_catalogue(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (Status status = load_definition(line); !status.ok())
      recovery_.problems.push_back({status.code(), "catalogue: " + line + ": " + status.message()});
  }
  rebuild();
  return {};
}

}  // namespace tapline::multilog
