package io.tapline.flink.results;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.tapline.aggregates.Details;
import io.tapline.aggregates.Histogram;
import io.tapline.aggregates.Value;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.accounting.Accounts;
import io.tapline.flink.accounting.Counters;
import io.tapline.flink.group.Exemplar;
import io.tapline.flink.group.Key;
import io.tapline.flink.group.KeyFields;
import java.io.IOException;
import java.io.StringWriter;
import java.math.BigInteger;
import java.util.List;

/** Writes result rows and completeness as JSON. */
final class Json {
  static final JsonFactory FACTORY = new JsonFactory();

  private final String query;
  private final List<String> keyFields;
  private final String processor;
  private final boolean ranked;
  private final String severity;
  private final boolean answers;
  private final String detailsName;

  /** Creates a writer for the rows of one processor. */
  Json(String query, ProcessorSpec spec) {
    this.query = query;
    this.processor = spec.name();
    this.keyFields = spec.key().fields();
    this.ranked = spec.isRanking();
    this.answers = spec.showsAnswers();
    this.detailsName = spec.aggregate().type().detailsName();
    this.severity = spec.trigger() == null ? "" : spec.trigger().severity();
  }

  /**
   * Returns one result row as JSON. The completeness is also passed as JSON, since all rows of a
   * window share it.
   */
  String row(WindowRows window, ResultRow row, int rank, boolean tied, String completeness)
      throws IOException {
    StringWriter text = new StringWriter(512);
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      json.writeStartObject();
      json.writeStringField("query", query);
      json.writeStringField("processor", processor);
      json.writeNumberField("window_start_ns", window.startNs());
      json.writeNumberField("window_end_ns", window.endNs());
      if (ranked) {
        json.writeNumberField("rank", rank);
      }
      if (tied) {
        json.writeBooleanField("tied", true);
      }
      writeKey(json, row.key());
      writeNumber(json, "value", row.value());
      writeBound(json, "low", row.value(), row.value().low());
      writeBound(json, "high", row.value(), row.value().high());
      if (row.counts() != null) {
        writeAnswerCounts(json, row.counts());
      }
      if (!row.details().isEmpty()) {
        writeDetails(json, row.details());
      }
      if (row.change() != null) {
        writeAlert(json, row);
      }
      if (window.partial()) {
        json.writeBooleanField("partial", true);
      }
      json.writeFieldName("completeness");
      json.writeRawValue(completeness);
      writeExemplars(json, row.exemplars().list());
      json.writeEndObject();
    }
    return text.toString();
  }

  private void writeKey(JsonGenerator json, byte[] key) throws IOException {
    List<Object> values = KeyFields.read(key);
    json.writeObjectFieldStart("key");
    for (int i = 0; i < values.size() && i < keyFields.size(); i++) {
      json.writeFieldName(keyFields.get(i));
      write(json, values.get(i));
    }
    json.writeEndObject();
  }

  static void write(JsonGenerator json, Object field) throws IOException {
    if (field == null) {
      json.writeNull();
    } else if (field instanceof Long number) {
      json.writeNumber(number);
    } else if (field instanceof BigInteger number) {
      json.writeNumber(number);
    } else if (field instanceof Double number) {
      write(json, number.doubleValue());
    } else if (field instanceof Boolean flag) {
      json.writeBoolean(flag);
    } else {
      json.writeString((String) field);
    }
  }

  /** Writes null for infinities and NaN, which JSON does not support. */
  private static void write(JsonGenerator json, double number) throws IOException {
    if (Double.isFinite(number)) {
      json.writeNumber(number);
    } else {
      json.writeNull();
    }
  }

  private static void writeNumber(JsonGenerator json, String name, Value value) throws IOException {
    json.writeFieldName(name);
    if (value.whole()) {
      json.writeNumber(value.exact());
    } else {
      write(json, value.number());
    }
  }

  private static void writeBound(JsonGenerator json, String name, Value value, double bound)
      throws IOException {
    if (value.whole() && bound == value.number()) {
      writeNumber(json, name, value);
    } else {
      json.writeFieldName(name);
      write(json, bound);
    }
  }

  /** Writes the beginning or the end of an alert; both have the same ID. */
  private void writeAlert(JsonGenerator json, ResultRow row) throws IOException {
    long since = row.change().sinceNs();
    json.writeObjectFieldStart("alert");
    json.writeStringField(
        "id", "%s-%s-%016x-%d".formatted(query, processor, Key.hash(row.key()), since));
    json.writeStringField("state", row.change().begins() ? "raised" : "cleared");
    json.writeStringField("severity", severity);
    json.writeNumberField("since_ns", since);
    json.writeEndObject();
  }

  /**
   * Writes the counts. Tuples without a value are shown separately only if the answer states don't
   * explain all of them.
   */
  private void writeAnswerCounts(JsonGenerator json, ResultRow.AnswerCounts counts)
      throws IOException {
    if (answers) {
      writeNumber(json, "unanswered", counts.unanswered());
      writeNumber(json, "half_seen", counts.halfSeen());
    }
    double explained = answers ? counts.unanswered().number() + counts.halfSeen().number() : 0;
    boolean some = counts.absent().number() > 0;
    if (some && counts.absent().number() != explained) {
      writeNumber(json, "absent", counts.absent());
    }
  }

  private void writeDetails(JsonGenerator json, Details details) throws IOException {
    json.writeObjectFieldStart(detailsName);
    for (var number : details.numbers().entrySet()) {
      writeNumber(json, number.getKey(), number.getValue());
    }
    if (details.histogram() != null) {
      writeHistogram(json, details.histogram());
    }
    json.writeEndObject();
  }

  private static void writeHistogram(JsonGenerator json, long[] histogram) throws IOException {
    json.writeArrayFieldStart("histogram");
    for (int i = 0; i < histogram.length; i++) {
      if (histogram[i] > 0) {
        json.writeStartObject();
        json.writeNumberField("le", Histogram.bound(i));
        json.writeNumberField("count", histogram[i]);
        json.writeEndObject();
      }
    }
    json.writeEndArray();
  }

  private static void writeExemplars(JsonGenerator json, List<Exemplar> exemplars)
      throws IOException {
    json.writeArrayFieldStart("exemplars");
    for (Exemplar flow : exemplars) {
      json.writeStartObject();
      json.writeStringField(
          "flow_id", "%016x-%08x".formatted(flow.flowHash(), flow.flowIncarnation()));
      json.writeStringField("src_ip", KeyFields.address(flow.source()));
      json.writeNumberField("src_port", flow.sourcePort());
      json.writeStringField("dst_ip", KeyFields.address(flow.destination()));
      json.writeNumberField("dst_port", flow.destinationPort());
      json.writeNumberField("start_ns", flow.startNs());
      json.writeNumberField("end_ns", flow.endNs());
      json.writeStringField("monitor", flow.monitor());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /**
   * Returns the completeness of a processor's rows as JSON.
   *
   * @param silent IDs of the monitors for which the window did not wait
   */
  static String completeness(Accounts accounts, ProcessorSpec processor, List<String> silent)
      throws IOException {
    Accounts.OfProcessor own = accounts.processor(processor.index());
    Counters dropped = new Counters();
    dropped.add(accounts.dropped());
    dropped.add(own.dropped());
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      json.writeStartObject();
      json.writeNumberField("sampling_rate", accounts.samplingRate());
      json.writeNumberField("packets_in", accounts.packetsIn());
      json.writeNumberField("packets_out", accounts.packetsOut());
      json.writeNumberField("tuples", accounts.tuples());
      json.writeFieldName("dropped");
      write(json, dropped);
      json.writeNumberField("late", own.late());
      json.writeNumberField("reused", own.reused());
      if (processor.answers()) {
        json.writeNumberField("unanswered", own.unanswered());
        json.writeNumberField("half_seen", own.halfSeen());
      }
      json.writeNumberField("duplicates", accounts.duplicates());
      if (accounts.clockSteps() > 0) {
        json.writeNumberField("clock_steps", accounts.clockSteps());
      }
      if (accounts.packetsPolled() > 0) {
        json.writeNumberField("packets_polled", accounts.packetsPolled());
      }
      if (!silent.isEmpty()) {
        json.writeArrayFieldStart("silent");
        for (String monitor : silent) {
          json.writeString(monitor);
        }
        json.writeEndArray();
      }
      json.writeEndObject();
    }
    return text.toString();
  }

  /** Returns the counts as {@code {"reason": count}}. */
  static String dropped(Counters dropped) throws IOException {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      write(json, dropped);
    }
    return text.toString();
  }

  private static void write(JsonGenerator json, Counters dropped) throws IOException {
    json.writeStartObject();
    for (var entry : dropped.byReason().entrySet()) {
      json.writeNumberField(entry.getKey(), entry.getValue());
    }
    json.writeEndObject();
  }
}
