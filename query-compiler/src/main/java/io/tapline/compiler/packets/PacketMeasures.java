package io.tapline.compiler.packets;

import static io.tapline.compiler.packets.PacketCondition.step;

import io.tapline.compiler.packets.TriggerExpression.Fault;
import io.tapline.compiler.packets.TriggerExpression.Value;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Measure;
import io.tapline.schema.proto.ConditionStep.Operator;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The functions of packet fields that the conditions of one trigger can compare. */
final class PacketMeasures implements TriggerExpression.Functions {
  private static final Map<String, Measure> SUMS =
      Map.of(
          "bytes", Measure.BYTES,
          "payload_bytes", Measure.PAYLOAD_BYTES,
          "retransmitted_bytes", Measure.RETRANSMITTED_BYTES,
          "missing_bytes", Measure.MISSING_BYTES,
          "in_flight_bytes", Measure.IN_FLIGHT_BYTES,
          "unacked_bytes", Measure.UNACKED_BYTES);
  private static final Map<String, Measure> FLAGS =
      Map.of(
          "syn", Measure.SYN,
          "syn_ack", Measure.SYN_ACK,
          "fin", Measure.FIN,
          "rst", Measure.RST,
          "retransmitted", Measure.RETRANSMISSIONS,
          "out_of_order", Measure.OUT_OF_ORDER);
  private static final Map<String, Measure> MAXIMA =
      Map.of(
          "bytes", Measure.MAX_BYTES,
          "payload_bytes", Measure.MAX_PAYLOAD_BYTES,
          "rtt_ns", Measure.MAX_RTT_NS);
  private static final Map<String, Measure> MINIMA = Map.of("rtt_ns", Measure.MIN_RTT_NS);
  private static final Map<String, Measure> DISTINCT =
      Map.of(
          "src_ip", Measure.DISTINCT_SRC_IP,
          "src_port", Measure.DISTINCT_SRC_PORT,
          "dst_ip", Measure.DISTINCT_DST_IP,
          "dst_port", Measure.DISTINCT_DST_PORT);
  private static final Map<String, Measure> QUANTILES =
      Map.of(
          "bytes", Measure.BYTES,
          "payload_bytes", Measure.PAYLOAD_BYTES,
          "rtt_ns", Measure.RTT_NS);
  private static final List<String> AVERAGES = List.of("bytes", "payload_bytes", "rtt_ns");
  private static final double NS_PER_SECOND = 1e9;
  private static final int BINS_PER_BURST = 8;

  private final long windowNs;
  private long burstNs;

  /**
   * Creates the measures of one trigger.
   *
   * @param windowNs length of the windows
   */
  PacketMeasures(long windowNs) {
    this.windowNs = windowNs;
  }

  /**
   * Returns the length of the span in which bursts are counted, in nanoseconds; 0 if there are
   * none.
   */
  long burstNs() {
    return burstNs;
  }

  /** Returns true if a function of the field exists. */
  static boolean hasField(String field) {
    return SUMS.containsKey(field)
        || FLAGS.containsKey(field)
        || MAXIMA.containsKey(field)
        || DISTINCT.containsKey(field);
  }

  @Override
  public Value value(String function, String argument) throws Fault {
    String[] words = argument.split(",", 2);
    return value(function, Names.normal(words[0].strip()), span(words));
  }

  /** Returns the second argument, which only burst has. */
  private static Optional<Long> span(String[] words) throws Fault {
    if (words.length < 2) {
      return Optional.empty();
    }
    String text = words[1].strip();
    Optional<Long> span = Literals.durationNs(text).map(BigDecimal::longValue);
    if (span.isEmpty()) {
      throw new Fault("%s is not a duration".formatted(Names.quoted(text)), "such as 100us");
    }
    return span;
  }

  private Value value(String function, String field, Optional<Long> span) throws Fault {
    if (span.isPresent() != function.equals("burst")) {
      throw new Fault(
          span.isPresent() ? function + " takes one field" : "burst needs a span",
          "for example \"burst(bytes, 100us) > 60KB\"");
    }
    Optional<Double> share = Literals.percentile(function);
    if (share.isPresent()) {
      return quantile(function, field, share.get());
    }
    return switch (function) {
      case "flows" -> flows(field);
      case "distinct" -> measure(function, field, DISTINCT, "count");
      case "count" -> field.isEmpty() ? count() : measure(function, field, FLAGS, "count");
      case "share" -> ratio(measure(function, field, FLAGS, ""), Measure.PACKETS, "");
      case "sum" ->
          FLAGS.containsKey(field)
              ? measure(function, field, FLAGS, "count")
              : measure(function, field, SUMS, "bytes");
      case "max" -> measure(function, field, MAXIMA, unit(field));
      case "min" -> measure(function, field, MINIMA, unit(field));
      case "avg" -> average(field);
      case "rate" -> perSecond(field.isEmpty() ? count() : measure(function, field, SUMS, "bytes"));
      case "burst" -> burst(field, span.orElseThrow());
      default ->
          throw new Fault(
              "there is no function %s of packets".formatted(Names.quoted(function)),
              "count, sum, avg, max, min, rate, share, burst, flows, distinct or p1 to p99.9");
    };
  }

  private static Value flows(String field) throws Fault {
    if (!field.isEmpty()) {
      throw new Fault("flows takes no field", "for example \"flows > 100\"");
    }
    return new Value(List.of(step(Measure.FLOWS)), "count");
  }

  private static Value quantile(String function, String field, double share) throws Fault {
    Value value = measure(function, field, QUANTILES, unit(field));
    return new Value(List.of(step(value.steps().get(0).getMeasure(), share)), value.unit());
  }

  private static Value count() {
    return new Value(List.of(step(Measure.PACKETS)), "count");
  }

  private static String unit(String field) {
    return field.equals("rtt_ns") ? "ns" : "bytes";
  }

  private static Value measure(
      String function, String field, Map<String, Measure> known, String unit) throws Fault {
    if (!known.containsKey(field)) {
      throw new Fault(
          field.isEmpty()
              ? function + " needs a field"
              : "packets have no %s(%s)".formatted(function, field),
          "%s of %s".formatted(function, String.join(", ", new TreeMap<>(known).keySet())));
    }
    return new Value(List.of(step(known.get(field))), unit);
  }

  private static Value average(String field) throws Fault {
    if (FLAGS.containsKey(field)) {
      return ratio(measure("avg", field, FLAGS, ""), Measure.PACKETS, "");
    } else if (!AVERAGES.contains(field)) {
      throw new Fault(
          "packets have no avg(%s)".formatted(field), "avg of " + String.join(", ", AVERAGES));
    } else if (field.equals("rtt_ns")) {
      return ratio(new Value(List.of(step(Measure.RTT_NS)), "ns"), Measure.RTT_COUNT, "ns");
    }
    return ratio(measure("avg", field, SUMS, "bytes"), Measure.PACKETS, "bytes");
  }

  private static Value ratio(Value dividend, Measure divisor, String unit) {
    return with(dividend, step(divisor), Operator.DIVIDE, unit);
  }

  private Value perSecond(Value sum) {
    String unit = sum.unit().equals("bytes") ? "bytes/s" : "1/s";
    return with(sum, TriggerExpression.step(windowNs / NS_PER_SECOND), Operator.DIVIDE, unit);
  }

  private static Value with(Value left, ConditionStep right, Operator operator, String unit) {
    List<ConditionStep> steps = new ArrayList<>(left.steps());
    steps.add(right);
    steps.add(TriggerExpression.step(operator));
    return new Value(steps, unit);
  }

  private Value burst(String field, long spanNs) throws Fault {
    if (!field.equals("bytes")) {
      throw new Fault("burst takes only bytes", "for example \"burst(bytes, 100us) > 60KB\"");
    } else if (spanNs < BINS_PER_BURST || spanNs % BINS_PER_BURST != 0 || spanNs > windowNs) {
      throw new Fault(
          "the span of a burst is out of range",
          "a multiple of 8 ns, at most " + Literals.durationText(windowNs));
    } else if (burstNs != 0 && burstNs != spanNs) {
      throw new Fault(
          "its bursts have different spans", "the same span for all bursts of a trigger");
    }
    burstNs = spanNs;
    return new Value(List.of(step(Measure.BURST)), "bytes");
  }
}
