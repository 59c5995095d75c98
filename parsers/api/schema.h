#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapline {

enum class FieldType : uint8_t { kU64, kI64, kF64, kBool, kString, kAddress };
std::string_view name_of(FieldType type);  // as in the catalogue: "u64", "i64", …

// The kind of a string, for code that derives templates from it.
enum class TextKind : uint8_t { kPlain, kUrl, kSql, kKey };
std::string_view name_of(TextKind kind);  // "plain", "url", "sql", "key"

enum class Layer : uint8_t { kNetwork, kTransport, kApplication };
std::string_view name_of(Layer layer);

// One column of a parser's tuples.
struct Field {
  std::string name;
  FieldType type = FieldType::kU64;
  std::string unit = {};  // "ns", "bytes", "packets"; empty for names and plain numbers
  std::string description = {};
  bool additive = false;  // sums are meaningful
  TextKind text = TextKind::kPlain;
  bool optional = false;  // absent in tuples if the parser could not determine it
};

inline Field optional(Field field) {
  field.optional = true;
  return field;
}

// Returns the kind that the field declares. If it declares none, as in plug-ins, the kind of a string follows from the
// field's name: url, statement or query, key or keys.
TextKind text_kind_of(const Field& field);

// An argument that a query passes to the parser: PARSE queue_flows(delay=500us). Each query has separate values.
struct Argument {
  std::string name;
  FieldType type = FieldType::kU64;  // any but kAddress; a string is one of `choices`
  std::string unit = {};             // as for a field: queries write "ns" as a duration, "bytes" as a size
  std::string description = {};
  std::string default_value = {};  // in the form that read_argument() accepts
  double min = 0;                  // bounds of a number, inclusive
  double max = 0;
  std::vector<std::string> choices = {};
  int64_t step = 1;  // whole numbers must be multiples of it
};

// The duration that `diff` uses: a field of one tuple, or the time between two tuples of one flow.
struct Duration {
  std::string field = {};
  std::string event_field = {};
  std::vector<std::string> start = {};
  std::vector<std::string> end = {};
};

// Describes the tuples of a parser. `fields` lists the parser's columns in the order of emitted values; every tuple
// also has the common_fields(), which come from the TupleHeader.
struct Schema {
  std::string name;
  std::string description = {};
  Layer layer = Layer::kApplication;
  std::vector<Field> fields = {};
  std::vector<std::string> main_fields = {};  // fields that top-k ranks
  std::string value_field = {};               // default of by=; empty if there is none
  Duration duration = {};                     // empty if there is none
  int64_t interval_ns = 0;                    // each flow has one tuple per interval; 0: each tuple is an event
  // The argument that sets the interval, in ns; its default is interval_ns. If it is empty, the interval is fixed. A
  // monitor has one interval per parser, so it refuses a query that chooses another one.
  std::string interval_argument = {};
  bool events = false;  // tuples may also be events (Emitter::emit_event)
  // True if tuples are correct only when one instance sees every packet of a tap. Queries then must not select or
  // sample packets, and no two threads may share the packets.
  bool all_traffic = false;
  bool queues = false;  // measures queues, so it needs taps on both sides of a queue
  // True if the parser emits no tuples: its fields describe packets, which only triggers in the monitor count.
  bool counted = false;
  std::vector<Argument> arguments = {};
  std::vector<std::string> example = {};  // the values of `fields` in an example tuple, as text; plug-ins have none
};

// Returns the first columns of every parser: time_ns, flow_hash, flow_incarnation, client_known_by, src_ip, src_port,
// dst_ip, dst_port.
std::span<const Field> common_fields();

}  // namespace tapline
