package io.tapline.control.query.events;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.tapline.flink.group.KeyFields;
import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import io.tapline.schema.rpc.EventSchema;
import io.tapline.schema.rpc.EventValue;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HexFormat;

/** Writes events as JSON (schema/redis.md). */
final class EventText {
  private static final JsonFactory FACTORY = new JsonFactory();
  private static final HexFormat HEX = HexFormat.of();

  private EventText() {}

  /** Returns an entry's text. */
  static byte[] json(EventBatch batch, EventList list, EventNumbers.Cut cut) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256 + 256 * list.getEventsCount());
    try (JsonGenerator json = FACTORY.createGenerator(bytes)) {
      json.writeStartObject();
      json.writeStringField("query", batch.getQuery());
      json.writeStringField("monitor", batch.getMonitor());
      json.writeNumberField("received", cut.received());
      json.writeNumberField("missing", cut.missing());
      json.writeNumberField("interrupted", cut.interrupted());
      json.writeArrayFieldStart("events");
      for (Event event : list.getEventsList().subList(cut.skip(), list.getEventsCount())) {
        write(list, event, json);
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static void write(EventList list, Event event, JsonGenerator json) throws IOException {
    EventSchema schema =
        event.getSchema() >= 0 && event.getSchema() < list.getSchemasCount()
            ? list.getSchemas(event.getSchema())
            : EventSchema.getDefaultInstance();
    json.writeStartObject();
    json.writeStringField("parser", schema.getParser());
    json.writeNumberField("time_ns", event.getTimeNs());
    json.writeNumberField("made_ns", event.getMadeNs());
    json.writeStringField(
        "flow_id",
        HEX.toHexDigits(event.getFlowHash()) + "-" + HEX.toHexDigits(event.getFlowIncarnation()));
    json.writeStringField("src_ip", KeyFields.address(event.getSrcIp().toByteArray()));
    json.writeNumberField("src_port", event.getSrcPort());
    json.writeStringField("dst_ip", KeyFields.address(event.getDstIp().toByteArray()));
    json.writeNumberField("dst_port", event.getDstPort());
    json.writeObjectFieldStart("fields");
    int fields = Math.min(schema.getFieldsCount(), event.getValuesCount());
    for (int i = 0; i < fields; i++) {
      json.writeFieldName(schema.getFields(i));
      write(event.getValues(i), json);
    }
    json.writeEndObject();
    json.writeEndObject();
  }

  private static void write(EventValue value, JsonGenerator json) throws IOException {
    switch (value.getValueCase()) {
      case NUMBER -> json.writeNumber(Long.toUnsignedString(value.getNumber()));
      case INTEGER -> json.writeNumber(value.getInteger());
      case REAL -> json.writeNumber(value.getReal());
      case TRUTH -> json.writeBoolean(value.getTruth());
      case TEXT -> json.writeString(value.getText());
      case VALUE_NOT_SET -> json.writeNull();
      default -> throw new IllegalStateException("unknown kind of value");
    }
  }
}
