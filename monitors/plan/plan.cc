#include "monitors/plan/plan.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "monitors/plan/duration.h"
#include "monitors/plan/parser_call.h"
#include "monitors/plan/trigger_reader.h"
#include "monitors/plan/tuple_trigger_reader.h"
#include "packet_io/base/nearest.h"
#include "packet_io/source/marked_source.h"
#include "parsers/api/argument.h"
#include "parsers/api/time.h"
#include "parsers/registry.h"
#include "schema/plan.pb.h"

namespace tapline {
namespace {

bool runs(const QuerySpec& spec, const std::string& parser) {
  return std::find(spec.parsers.begin(), spec.parsers.end(), parser) != spec.parsers.end();
}

Status add_parser(const std::string& name, QuerySpec* spec) {
  auto parser = make_parser(name);
  if (!parser) {
    return Status::invalid("unknown parser '" + name + "'" + suggest_nearest(name, parser_names()) +
                           " (--list-parsers shows all)");
  }
  const Schema& schema = parser->schema();
  if (runs(*spec, schema.name)) return {};
  spec->parsers.push_back(schema.name);
  if (schema.arguments.empty()) return {};
  spec->arguments.push_back({.parser = schema.name});
  for (const Argument& argument : schema.arguments) spec->arguments.back().values.push_back(argument.default_value);
  return {};
}

Status read_argument(const v1::ParserArgument& message, QuerySpec* spec) {
  if (!runs(*spec, message.parser())) {
    return Status::invalid("the plan has an argument for parser '" + message.parser() +
                           "', which the query does not run");
  }
  const auto parser = make_parser(message.parser());
  const auto& declared = parser->schema().arguments;
  const auto argument = std::find_if(declared.begin(), declared.end(),
                                     [&](const Argument& candidate) { return candidate.name == message.name(); });
  if (argument == declared.end()) {
    return Status::invalid("'" + message.parser() + "' has no argument '" + message.name() + "'");
  }
  std::string error;
  if (!read_argument(*argument, message.value(), &error)) return Status::invalid(message.parser() + ": " + error);
  const auto values =
      std::find_if(spec->arguments.begin(), spec->arguments.end(),
                   [&](const ParserArguments& arguments) { return arguments.parser == message.parser(); });
  values->values[static_cast<size_t>(argument - declared.begin())] = message.value();
  return {};
}

Status read_filter(const v1::TupleFilter& filter, QuerySpec* spec) {
  for (const std::string& name : filter.parsers()) {
    if (!runs(*spec, name))
      return Status::invalid("the plan has a filter for parser '" + name + "', which the query does not run");
    auto condition = TupleCondition::make(filter.condition(), make_parser(name)->schema());
    if (!condition.ok()) return Status::invalid("filter for parser '" + name + "': " + condition.status().sentence());
    spec->filters.push_back({name, std::move(*condition)});
  }
  return {};
}

Status read_addresses(const google::protobuf::RepeatedPtrField<v1::Address>& addresses,
                      std::vector<AddressPattern>* out) {
  for (const v1::Address& address : addresses) {
    if (address.port() > UINT16_MAX)
      return Status::invalid("port " + std::to_string(address.port()) + " is above 65535");
    uint32_t last = std::max(address.port(), address.last_port());
    if (last > UINT16_MAX) return Status::invalid("port " + std::to_string(last) + " is above 65535");
    if (address.last_port() > 0 && address.port() == 0) return Status::invalid("a port range needs a first port");
    auto pattern =
        AddressPattern::parse(address.prefix(), static_cast<uint16_t>(address.port()), static_cast<uint16_t>(last));
    if (!pattern) return Status::invalid("'" + address.prefix() + "' is not an address prefix");
    out->push_back(*pattern);
  }
  return {};
}

Status read_match(const v1::Match& match, ConnectionMatch* read) {
  std::vector<AddressPattern> sources, to;
  if (Status status = read_addresses(match.from(), &sources); !status.ok()) return status;
  if (Status status = read_addresses(match.to(), &to); !status.ok()) return status;
  *read = ConnectionMatch(std::move(sources), std::move(to));
  read->restrict({match.vlans().begin(), match.vlans().end()}, {match.tenants().begin(), match.tenants().end()});
  if (!match.has_except()) return {};
  if (match.except().has_except()) return Status::invalid("exceptions of a match can't be nested");
  ConnectionMatch except;
  if (Status status = read_match(match.except(), &except); !status.ok()) return status;
  read->except(std::move(except));
  return {};
}

// Reads the queues and the flows to report. If there are any, fails if a parser does not measure queues, unless it is
// `trigger` and only emits the events of tuple triggers.
Status read_queues(const v1::Plan& plan, QuerySpec* spec) {
  if (plan.queues().empty() && !plan.has_reported()) return {};
  for (const std::string& parser : spec->parsers) {
    const bool emits_events_only = parser == "trigger" && plan.triggers().empty();
    if (!make_parser(parser)->schema().queues && !emits_events_only) {
      return Status::invalid("the plan names queues or flows to report, but its parser '" + parser +
                             "' does not measure queues");
    }
  }
  for (const v1::Queue& queue : plan.queues()) {
    if (queue.switch_name().empty() || queue.port().empty())
      return Status::invalid("a queue needs a switch and a port");
    if (queue.mark() > CopyMarks::kMaxQueues)
      return Status::invalid("the mark of queue " + queue.switch_name() + ":" + queue.port() + " is above 2^23 - 1");
    spec->queues.push_back({queue.switch_name(), queue.port(), queue.mark()});
  }
  if (!plan.has_reported()) return {};
  return read_match(plan.reported(), &spec->reported.emplace());
}

Status read_limit(const v1::Limit& limit, QuerySpec* spec) {
  if (limit.has_duration()) {
    int64_t duration_ns = ns_of(limit.duration());
    if (duration_ns <= 0) return Status::invalid("the limit's duration must be positive");
    spec->limit_duration_ns = duration_ns;
  }
  if (limit.packets() > 0 || limit.leased()) spec->limit_packets = limit.packets();
  spec->limit_leased = limit.leased();
  spec->limit_spent = limit.spent();
  return {};
}

Status read_sampling(const v1::Sampling& sampling, QuerySpec* spec) {
  spec->rate_may_fall = sampling.mode() == v1::Sampling::AUTO;
  spec->sampling_rate = sampling.mode() == v1::Sampling::OFF || sampling.rate() == 0 ? 1.0 : sampling.rate();
  if (!(spec->sampling_rate > 0 && spec->sampling_rate <= 1)) {
    return Status::invalid("the sampling rate must be above 0 and at most 1, not " + std::to_string(sampling.rate()));
  }
  spec->sampled_by_port = sampling.by_port();
  spec->pipeline_limit = sampling.limit() == 0 ? 1.0 : sampling.limit();
  if (!(spec->pipeline_limit > 0 && spec->pipeline_limit <= 1)) {
    return Status::invalid("the limit of the sampling rate must be from 0 to 1, not " +
                           std::to_string(sampling.limit()));
  }
  return {};
}

// Fails if the query is sampled although one of its parsers emits correct tuples only if it sees all packets.
Status check_all_traffic(const QuerySpec& spec) {
  if (spec.sampling_rate == 1 && !spec.rate_may_fall) return {};
  for (const std::string& name : spec.parsers) {
    if (!make_parser(name)->schema().all_traffic) continue;
    return Status::invalid("parser '" + name + "' must see all flows, but the plan samples them");
  }
  return {};
}

// Adds a parser with the arguments that follow its name, as in "link_load(every=1ms)".
Status add_parser_call(const std::string& text, QuerySpec* spec) {
  ParserCall call;
  if (Status status = read_parser_call(text, &call); !status.ok()) return status;
  const size_t parsers = spec->parsers.size();
  if (Status status = add_parser(call.name, spec); !status.ok()) return status;
  const auto parser = make_parser(call.name);
  const Schema& schema = parser->schema();
  if (spec->parsers.size() == parsers && !schema.arguments.empty())
    return Status::invalid("parser '" + schema.name + "' is named twice");
  std::vector<std::string> values;
  if (Status status = read_call_arguments(call, schema, &values); !status.ok()) return status;
  if (!values.empty()) spec->arguments.back().values = std::move(values);
  return {};
}

// TextForm has the same numbers as the plan's Shape.Form.
static_assert(static_cast<int>(TextForm::kOmit) == v1::Shape::OMIT);

Status read_shape(const v1::Shape& shape, QuerySpec* spec) {
  if (!runs(*spec, shape.parser()))
    return Status::invalid("the plan has a shape for parser '" + shape.parser() + "', which the query does not run");
  const auto parser = make_parser(shape.parser());
  const auto& fields = parser->schema().fields;
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& candidate) { return candidate.name == shape.field(); });
  if (field == fields.end() || field->type != FieldType::kString) {
    return Status::invalid("'" + shape.parser() + "' has no string field '" + shape.field() + "'");
  }
  // An unknown form may be intended to protect data, so it is an error.
  if (!v1::Shape::Form_IsValid(shape.form())) {
    return Status::invalid("unknown form " + std::to_string(shape.form()) + " for '" + shape.field() + "'");
  }
  spec->shapes.push_back({shape.parser(), shape.field(), static_cast<TextForm>(shape.form())});
  return {};
}

Status read_threads(const v1::Monitor& monitor, ThreadLayout* layout) {
  layout->lanes = std::max(1u, monitor.lanes());
  if (layout->lanes > ThreadLayout::kMaxThreads) return Status::invalid("the plan requests more than 64 lanes");
  for (const v1::Workers& workers : monitor.workers()) {
    if (workers.parsers().empty()) return Status::invalid("a worker group has no parsers");
    std::vector<std::string> parsers(workers.parsers().begin(), workers.parsers().end());
    if (Status status = layout->add(parsers, std::max(1u, workers.threads())); !status.ok()) return status;
  }
  return {};
}

Status read_placement(const v1::Plan& plan, const std::string& monitor_id, QuerySpec* spec) {
  for (const v1::Monitor& monitor : plan.monitors()) {
    // Either may match, since a part that has moved to another host keeps its ID.
    if (monitor.id() != monitor_id && monitor.host() != monitor_id) continue;
    spec->monitor = monitor.id();
    spec->partition = monitor.partition();
    return read_threads(monitor, &spec->threads);
  }
  return Status::invalid("the plan has no monitor '" + monitor_id + "'; set --monitor-id to one that it names");
}

// Returns true if a plan has unknown fields. Only binary plans can have them, since JSON with such fields can't be
// parsed.
bool has_unknown_fields(const v1::Plan& plan) {
  v1::Plan known_plan = plan;
  known_plan.DiscardUnknownFields();
  return known_plan.ByteSizeLong() != plan.ByteSizeLong();
}

}  // namespace

Status read_plan(const v1::Plan& plan, const std::string& monitor_id, QuerySpec* spec) {
  if (has_unknown_fields(plan)) {
    return Status::invalid("the plan of '" + plan.query() +
                           "' has fields that this monitor does not know; update tapline-monitor on this host");
  }
  if (plan.format() != 1) {
    return Status::invalid("format " + std::to_string(plan.format()) + " is not known; this monitor reads format 1");
  }
  if (plan.query().empty()) return Status::invalid("the plan does not name a query");
  if (plan.parsers().empty()) return Status::invalid("the plan does not name a parser");
  spec->name = plan.query();
  spec->epoch = plan.epoch();
  spec->topic = plan.topic().empty() ? "tapline.tuples." + plan.query() : plan.topic();
  for (const std::string& parser : plan.parsers()) {
    if (Status status = add_parser(parser, spec); !status.ok()) return status;
  }
  for (const v1::ParserArgument& argument : plan.arguments()) {
    if (Status status = read_argument(argument, spec); !status.ok()) return status;
  }
  for (const v1::TupleFilter& filter : plan.filters()) {
    if (Status status = read_filter(filter, spec); !status.ok()) return status;
  }
  for (const v1::Shape& shape : plan.shapes()) {
    if (Status status = read_shape(shape, spec); !status.ok()) return status;
  }
  if (Status status = read_match(plan.match(), &spec->match); !status.ok()) return status;
  if (Status status = read_queues(plan, spec); !status.ok()) return status;
  if (Status status = read_limit(plan.limit(), spec); !status.ok()) return status;
  if (Status status = read_sampling(plan.sampling(), spec); !status.ok()) return status;
  if (Status status = check_all_traffic(*spec); !status.ok()) return status;
  if (Status status = read_triggers(plan, spec); !status.ok()) return status;
  if (Status status = read_tuple_triggers(plan, spec); !status.ok()) return status;
  spec->copies_unconfirmed = plan.rules_size() > 0;
  return read_placement(plan, monitor_id, spec);
}

Status parse_plan(std::string_view json, const std::string& where, v1::Plan* plan) {
  const auto parsed = google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, plan);
  return parsed.ok() ? Status() : Status::invalid(where + ": is not a plan: " + std::string(parsed.message()));
}

Status load_plan(const std::string& path, v1::Plan* plan) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Status::invalid(path + ": can't read the plan: " + std::strerror(errno));
  return parse_plan(text.str(), path, plan);
}

Status query_of_parsers(const std::vector<std::string>& parsers, QuerySpec* spec) {
  spec->name = "local";
  spec->topic = "tapline.tuples.local";
  for (const std::string& parser : parsers) {
    if (Status status = add_parser_call(parser, spec); !status.ok()) return Status::usage(status.message());
  }
  return {};
}

Status check_intervals(const QuerySpec& spec, const QuerySpec& running) {
  for (const std::string& name : spec.parsers) {
    if (!runs(running, name)) continue;
    const auto parser = make_parser(name);
    const Schema& schema = parser->schema();
    const int64_t asked_ns = spec.interval_ns(schema), running_ns = running.interval_ns(schema);
    if (schema.interval_argument.empty() || asked_ns == running_ns) continue;
    const std::string message = schema.interval_argument + "=" + duration_text(running_ns);
    return Status::invalid("parser '" + name + "' already runs with " + message +
                           " on this monitor for another query, and all queries share its interval; use " + message +
                           ", or use another monitor");
  }
  return {};
}

}  // namespace tapline
