package io.tapline.control.query.events;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import com.google.protobuf.ByteString;
import io.tapline.flink.group.KeyFields;
import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import io.tapline.schema.rpc.EventSchema;
import io.tapline.schema.rpc.EventValue;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Writes events as JSON (schema/redis.md).
 *
 * <p>The thread that logs events spends most of its time here. Names are therefore encoded once per
 * batch, and neither numbers nor repeated addresses are converted to strings.
 */
final class EventText {
  private static final JsonFactory FACTORY = new JsonFactory();
  private static final char[] HEX = "0123456789abcdef".toCharArray();

  private static final SerializableString PARSER = new SerializedString("parser");
  private static final SerializableString TIME_NS = new SerializedString("time_ns");
  private static final SerializableString MADE_NS = new SerializedString("made_ns");
  private static final SerializableString FLOW_ID = new SerializedString("flow_id");
  private static final SerializableString SRC_IP = new SerializedString("src_ip");
  private static final SerializableString SRC_PORT = new SerializedString("src_port");
  private static final SerializableString DST_IP = new SerializedString("dst_ip");
  private static final SerializableString DST_PORT = new SerializedString("dst_port");
  private static final SerializableString FIELDS = new SerializedString("fields");

  private final JsonGenerator json;
  private final Names[] schemas;
  private final Address source = new Address();
  private final Address destination = new Address();
  private final char[] flow = new char[16 + 1 + 8];

  /** The encoded names of a schema. */
  private record Names(SerializableString parser, SerializableString[] fields) {
    static final Names NONE = new Names(new SerializedString(""), new SerializableString[0]);

    static Names of(EventSchema schema) {
      return new Names(
          new SerializedString(schema.getParser()),
          schema.getFieldsList().stream()
              .map(SerializedString::new)
              .toArray(SerializableString[]::new));
    }
  }

  /** Caches the text of the last address. */
  private static final class Address {
    private ByteString bytes = ByteString.EMPTY;
    private SerializableString text = new SerializedString(KeyFields.address(new byte[0]));

    SerializableString of(ByteString next) {
      if (!next.equals(bytes)) {
        bytes = next;
        text = new SerializedString(KeyFields.address(next.toByteArray()));
      }
      return text;
    }
  }

  private EventText(JsonGenerator json, EventList list) {
    this.json = json;
    this.schemas = list.getSchemasList().stream().map(Names::of).toArray(Names[]::new);
  }

  /** Returns an entry as JSON in UTF-8. */
  static byte[] json(EventBatch batch, EventList list, EventNumbers.CutBatch cut) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(256 + 320 * list.getEventsCount());
    try (JsonGenerator json = FACTORY.createGenerator(bytes)) {
      json.writeStartObject();
      json.writeStringField("query", batch.getQuery());
      json.writeStringField("monitor", batch.getMonitor());
      json.writeNumberField("received", cut.received());
      json.writeNumberField("missing", cut.missing());
      json.writeNumberField("interrupted", cut.interrupted());
      json.writeArrayFieldStart("events");
      EventText text = new EventText(json, list);
      for (int i = cut.skip(); i < list.getEventsCount(); i++) {
        text.write(list.getEvents(i));
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private void write(Event event) throws IOException {
    Names names =
        event.getSchema() >= 0 && event.getSchema() < schemas.length
            ? schemas[event.getSchema()]
            : Names.NONE;
    json.writeStartObject();
    write(PARSER, names.parser());
    write(TIME_NS, event.getTimeNs());
    write(MADE_NS, event.getMadeNs());
    hex(event.getFlowHash(), 16, 0);
    flow[16] = '-';
    hex(event.getFlowIncarnation(), 8, 17);
    json.writeFieldName(FLOW_ID);
    json.writeString(flow, 0, flow.length);
    write(SRC_IP, source.of(event.getSrcIp()));
    write(SRC_PORT, event.getSrcPort());
    write(DST_IP, destination.of(event.getDstIp()));
    write(DST_PORT, event.getDstPort());
    json.writeFieldName(FIELDS);
    json.writeStartObject();
    int fields = Math.min(names.fields().length, event.getValuesCount());
    for (int i = 0; i < fields; i++) {
      json.writeFieldName(names.fields()[i]);
      write(event.getValues(i));
    }
    json.writeEndObject();
    json.writeEndObject();
  }

  private void write(SerializableString name, SerializableString text) throws IOException {
    json.writeFieldName(name);
    json.writeString(text);
  }

  private void write(SerializableString name, long number) throws IOException {
    json.writeFieldName(name);
    json.writeNumber(number);
  }

  private void hex(long number, int digits, int end) {
    for (int i = 0; i < digits; i++) {
      flow[end + i] = HEX[(int) (number >>> 4 * (digits - 1 - i)) & 15];
    }
  }

  private void write(EventValue value) throws IOException {
    switch (value.getValueCase()) {
      case NUMBER -> writeUnsigned(value.getNumber());
      case INTEGER -> json.writeNumber(value.getInteger());
      case REAL -> json.writeNumber(value.getReal());
      case TRUTH -> json.writeBoolean(value.getTruth());
      case TEXT -> json.writeString(value.getText());
      case VALUE_NOT_SET -> json.writeNull();
      default -> throw new IllegalStateException("unknown kind of value");
    }
  }

  private void writeUnsigned(long number) throws IOException {
    if (number >= 0) {
      json.writeNumber(number);
    } else {
      json.writeNumber(Long.toUnsignedString(number));
    }
  }
}
