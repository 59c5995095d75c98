// The catalogue: one line per definition, words percent-escaped, ordered so that each definition can be recreated.
#include <algorithm>
#include <sstream>

#include "multilog/multilog_impl.h"

namespace tapline::multilog {
namespace {

// Percent-escapes a word of a catalogue line, so that it has no spaces.
std::string Escaped(const std::string& text) {
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
std::string Unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%')
      out += text[i];
    else if (i + 2 < text.size() + 0 && text.size() > 1)
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)), i += 2;
  }
  return out;
}
std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ';';
    out += Escaped(word);
  }
  return out.empty() ? "%" : out;
}
std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  if (text == "%") return words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ';');) words.push_back(Unescaped(word));
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
  definitions.triggers = triggers_->List();
  return definitions;
}

std::string MultiLogImpl::CatalogueText() const {
  std::ostringstream out;
  for (const Index& index : indexes_) {
    if (index.part == 0) out << index.id << " index " << Escaped(index.field) << '\n';
  }
  for (const auto& filter : filters_) {
    if (!filter->name.empty())
      out << filter->id << " filter " << Escaped(filter->name) << ' ' << Escaped(filter->expression.text()) << '\n';
  }
  for (const auto& aggregate : aggregates_) {
    const AggregateSpec& spec = aggregate_specs_.at(aggregate->name);
    out << aggregate->id << " aggregate " << Escaped(spec.name) << ' ' << Escaped(spec.filter) << ' '
        << Escaped(spec.function.function) << ' ' << Escaped(spec.function.field) << ' '
        << Joined(spec.function.group_by) << ' ' << spec.function.max_groups << ' ' << spec.bucket_ns << ' '
        << spec.buckets << ' ' << Joined(spec.outputs);
    for (const double quantile : spec.function.quantiles) out << ' ' << quantile;
    out << '\n';
  }
  for (const TriggerSpec& spec : triggers_->List()) {
    out << ~uint64_t{0} << " trigger " << Escaped(spec.name) << ' ' << Escaped(spec.aggregate) << ' '
        << Escaped(spec.condition) << ' ' << spec.window_ns << ' ' << spec.period_ns << ' '
        << static_cast<int>(spec.severity) << ' ' << spec.cooldown_ns << '\n';
  }
  // A filter may compare with an aggregate of another filter, so definitions are listed by id.
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

Status MultiLogImpl::SaveCatalogue() {
  if (storage_ == nullptr || loading_) return {};
  return storage_->WriteCatalogue(CatalogueText());
}

Status MultiLogImpl::LoadDefinition(const std::string& line) {
  std::istringstream words(line);
  std::string kind, name, a, b, c, d, e;
  words >> kind >> name;
  name = Unescaped(name);
  if (kind == "index") return AddIndexLocked(name, false);
  if (kind == "filter") return words >> a, AddFilterLocked(name, Compiled(Unescaped(a)));
  if (kind == "aggregate") {
    AggregateSpec spec;
    spec.name = name;
    words >> a >> b >> c >> d >> spec.function.max_groups >> spec.bucket_ns >> spec.buckets >> e;
    spec.filter = Unescaped(a);
    spec.function.function = Unescaped(b);
    spec.function.field = Unescaped(c);
    spec.function.group_by = Split(d);
    spec.outputs = Split(e);
    spec.function.quantiles.clear();
    for (double quantile; words >> quantile;) spec.function.quantiles.push_back(quantile);
    return AddAggregateLocked(spec);
  }
  if (kind != "trigger") return {Code::kCorrupt, "unknown definition"};
  TriggerSpec spec;
  int severity = 1;
  words >> a >> b >> spec.window_ns >> spec.period_ns >> severity >> spec.cooldown_ns;
  spec.name = name;
  spec.aggregate = Unescaped(a);
  spec.condition = Unescaped(b);
  spec.severity = static_cast<Severity>(std::clamp(severity, 0, 2));
  return AddTriggerLocked(spec);
}

// Each definition that can't be recreated is reported as a separate problem.
Status MultiLogImpl::LoadCatalogue(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (Status status = LoadDefinition(line); !status.ok())
      recovery_.problems.push_back({status.code(), "catalogue: " + line + ": " + status.message()});
  }
  Rebuild();
  return {};
}

}  // namespace tapline::multilog
