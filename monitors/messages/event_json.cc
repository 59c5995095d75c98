#include "monitors/messages/event_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

namespace tapline {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

ordered_json fields(const Message& message, ordered_json object = ordered_json::object());

// Converts a field of any type that occurs in events.
ordered_json value_of(const Message& message, const FieldDescriptor* field) {
  const Reflection* read = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return read->GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return read->GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return read->GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return read->GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return read->GetBool(message, field);
    case FieldDescriptor::CPPTYPE_STRING:
      return read->GetString(message, field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return fields(read->GetMessage(message, field));
    default:
      return nullptr;
  }
}

// Converts a map to an object. The map's entries are messages with a key, which is a string in events, and a value.
ordered_json map_of(const Message& message, const FieldDescriptor* field) {
  ordered_json object = ordered_json::object();
  const Reflection* read = message.GetReflection();
  for (int i = 0; i < read->FieldSize(message, field); ++i) {
    const Message& entry = read->GetRepeatedMessage(message, field, i);
    const std::string key = entry.GetReflection()->GetString(entry, field->message_type()->map_key());
    object[key] = value_of(entry, field->message_type()->map_value());
  }
  return object;
}

// Converts a list; lists in events consist of messages.
ordered_json list_of(const Message& message, const FieldDescriptor* field) {
  ordered_json list = ordered_json::array();
  const Reflection* read = message.GetReflection();
  for (int i = 0; i < read->FieldSize(message, field); ++i)
    list.push_back(fields(read->GetRepeatedMessage(message, field, i)));
  return list;
}

ordered_json any_of(const Message& message, const FieldDescriptor* field) {
  if (field->is_map()) return map_of(message, field);
  return field->is_repeated() ? list_of(message, field) : value_of(message, field);
}

ordered_json fields(const Message& message, ordered_json object) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->has_presence() && !message.GetReflection()->HasField(message, field)) continue;
    object[field->name()] = any_of(message, field);
  }
  return object;
}

}  // namespace

std::string event_json(const v1::MonitorStatus& status) {
  if (status.has_json()) return status.json();
  const FieldDescriptor* event =
      status.GetReflection()->GetOneofFieldDescriptor(status, status.GetDescriptor()->FindOneofByName("event"));
  if (event == nullptr) return "{}";
  const ordered_json line = fields(status.GetReflection()->GetMessage(status, event), {{"event", event->name()}});
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tapline
