package io.tapline.flink.support;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.aggregates.distribution.Values;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The reference evaluator. It stores every tuple, evaluates each window separately and shares only
 * {@link Values} with the job. Each window's result is a string, so that differences are readable.
 */
public final class Oracle {
  /** A value to be aggregated. */
  private record Sample(long timeNs, List<Object> key, Object value) {}

  private static final Set<String> SHOWN_WITH_DISTRIBUTION = Set.of("DISTRIBUTION", "HISTOGRAM");

  /** The outcome of a trigger's condition for a group. */
  private record Outcome(boolean begins, boolean lasts, Number value) {}

  private final Processor processor;
  private final List<Oracle> operands;
  private final List<Sample> samples;
  private final long firstEndNs;
  private long watchedSinceNs = Long.MIN_VALUE;
  private final long lastEndNs;
  public long reused;
  public long unjoined;

  /**
   * Evaluates a processor over the tuples of all monitors. Monitor {@code i}'s stream ends at the
   * {@code i}th of {@code endsNs}.
   */
  public Oracle(Plan plan, int index, List<Tuple> tuples, List<Long> endsNs) {
    this(plan.getProcessors(index), tuples, endsNs);
  }

  private Oracle(Processor processor, List<Tuple> tuples, List<Long> endsNs) {
    this.processor = processor;
    operands =
        processor.getOperandsList().stream()
            .map(operand -> new Oracle(of(processor, operand), tuples, endsNs))
            .toList();
    samples =
        processor.getValue().getKindCase() == Value.KindCase.DIFFERENCE
            ? differences(tuples)
            : fields(tuples);
    firstEndNs = endsNs.stream().mapToLong(Long::longValue).min().orElseThrow();
    lastEndNs = endsNs.stream().mapToLong(Long::longValue).max().orElseThrow();
  }

  private static Processor of(Processor processor, Operand operand) {
    return processor.toBuilder()
        .clearOperands()
        .setValue(operand.getValue())
        .setAggregate(operand.getAggregate())
        .setShare(operand.getShare())
        .build();
  }

  private List<Sample> fields(List<Tuple> tuples) {
    List<Sample> samples = new ArrayList<>();
    for (Tuple tuple : tuples) {
      if (tuple.parser().equals(processor.getParser())) {
        Object value = tuple.fields().get(processor.getValue().getField());
        boolean isNarrowed = processor.getValue().getOnly().getNodesCount() > 0;
        // The only narrowed values are those of Plans.ONLY_PAGE_1.
        boolean isAbsent = isNarrowed && !tuple.fields().get("url").equals("/page1");
        Object sample = isAbsent ? null : value == null ? Long.valueOf(1) : value;
        samples.add(new Sample(tuple.timeNs(), key(tuple, null), sample));
      }
    }
    return samples;
  }

  private List<Sample> differences(List<Tuple> tuples) {
    List<Sample> samples = new ArrayList<>();
    Set<Long> flows = new TreeSet<>();
    tuples.forEach(tuple -> flows.add(tuple.flow()));
    for (long flow : flows) {
      List<Tuple> own = tuples.stream().filter(tuple -> tuple.flow() == flow).toList();
      Tuple start = event(own, Set.of("syn"));
      Tuple end = event(own, Set.of("fin", "rst"));
      if (start == null || end == null) {
        continue;
      }
      List<Tuple> joinedTuples =
          own.stream().filter(tuple -> tuple.parser().equals("http_get")).toList();
      if (processor.hasJoin() && joinedTuples.size() != 1) {
        reused += joinedTuples.size() > 1 ? 1 : 0;
        unjoined += joinedTuples.isEmpty() ? 1 : 0;
        continue;
      }
      long value = end.timeNs() - (long) end.fields().get("certain_after_ns") - start.timeNs();
      samples.add(
          new Sample(
              end.timeNs(), key(end, processor.hasJoin() ? joinedTuples.get(0) : null), value));
    }
    return samples;
  }

  private static Tuple event(List<Tuple> tuples, Set<String> events) {
    return tuples.stream()
        .filter(tuple -> events.contains(tuple.fields().getOrDefault("event", "")))
        .findFirst()
        .orElse(null);
  }

  private List<Object> key(Tuple own, Tuple joinedTuple) {
    List<Object> key = new ArrayList<>();
    for (String field : processor.getKeyList()) {
      boolean isJoined = processor.getJoin().getFieldsList().contains(field);
      key.add((isJoined ? joinedTuple : own).field(field));
    }
    return key;
  }

  /** Makes windows partial if they begin before this time. */
  public Oracle watchedSince(long timeNs) {
    watchedSinceNs = timeNs;
    return this;
  }

  private boolean isPartial(long startNs, long endNs) {
    return startNs < watchedSinceNs || endNs > firstEndNs;
  }

  /**
   * Returns every window that contains a sample, in order. Omits a window that repeats the rows of
   * the previous one if both end after all monitors have ended.
   */
  public List<String> windows() {
    List<String> windows = new ArrayList<>();
    long slide = nanoseconds(processor.getWindow().getSlide());
    if (processor.hasTrigger()) {
      return alerts(slide);
    }
    if (!processor.getWindow().hasSize()) {
      return wholeQuery(slide);
    }
    long size = nanoseconds(processor.getWindow().getSize());
    long lastEnd = Long.MIN_VALUE;
    String lastRows = "";
    for (long end : ends(slide, size)) {
      String window = window(end - size, end, end - size, isPartial(end - size, end));
      String rows = window.lines().skip(1).collect(Collectors.joining());
      boolean hasBoth = lastEnd == end - slide && lastEnd > lastEndNs;
      if (!hasBoth || !rows.equals(lastRows)) {
        windows.add(window);
      }
      lastEnd = end;
      lastRows = rows;
    }
    return windows;
  }

  private TreeSet<Long> ends(long slide, long size) {
    TreeSet<Long> ends = new TreeSet<>();
    for (Sample sample : samples) {
      for (long end = (sample.timeNs() / slide + 1) * slide;
          end - size <= sample.timeNs();
          end += slide) {
        ends.add(end);
      }
    }
    return ends;
  }

  /** Returns the alerts that begin or end in each window, including windows without samples. */
  private List<String> alerts(long slide) {
    long size = nanoseconds(processor.getWindow().getSize());
    TreeSet<Long> ends = ends(slide, size);
    List<String> windows = new ArrayList<>();
    Map<List<Object>, Integer> inARow = new HashMap<>();
    Map<List<Object>, Long> onAlert = new HashMap<>();
    Map<List<Object>, Long> lastBegin = new HashMap<>();
    for (long end = ends.isEmpty() ? 1 : ends.first();
        !ends.isEmpty() && end <= ends.last() + slide;
        end += slide) {
      Map<List<Object>, Outcome> outcomes = outcomes(end - size, end);
      List<String> rows = new ArrayList<>();
      for (List<Object> key : new ArrayList<>(onAlert.keySet())) {
        if (!outcomes.containsKey(key) || !outcomes.get(key).lasts()) {
          Number value = outcomes.containsKey(key) ? outcomes.get(key).value() : null;
          rows.add("%s = %s cleared %d".formatted(key, value, onAlert.remove(key)));
          outcomes.remove(key);
          inARow.remove(key);
        }
      }
      inARow.keySet().retainAll(outcomes.keySet());
      for (var outcome : outcomes.entrySet()) {
        List<Object> key = outcome.getKey();
        if (onAlert.containsKey(key)) {
          continue;
        }
        if (!outcome.getValue().begins() || wantsAll() && isPartial(end - size, end)) {
          inARow.remove(key);
          continue;
        }
        boolean cool =
            end - lastBegin.getOrDefault(key, Long.MIN_VALUE / 2)
                >= nanoseconds(processor.getTrigger().getCooldown());
        if (inARow.merge(key, 1, Integer::sum) >= processor.getTrigger().getAfter() && cool) {
          onAlert.put(key, end);
          lastBegin.put(key, end);
          Number value = outcome.getValue().value();
          rows.add("%s = %s raised %d".formatted(key, value, end));
        }
      }
      if (!rows.isEmpty()) {
        String partial = isPartial(end - size, end) ? " partial" : "";
        rows.sort(Comparator.naturalOrder());
        windows.add(
            "[%d,%d)%s\n  %s".formatted(end - size, end, partial, String.join("\n  ", rows)));
      }
    }
    return windows;
  }

  private Map<List<Object>, Outcome> outcomes(long beginNs, long endNs) {
    Map<List<Object>, Outcome> outcomes = new HashMap<>();
    List<Map<List<Object>, Number>> further =
        operands.stream().map(operand -> operand.values(beginNs, endNs, beginNs)).toList();
    values(beginNs, endNs, beginNs)
        .forEach(
            (key, value) -> {
              List<Number> all = new ArrayList<>();
              all.add(value);
              further.forEach(values -> all.add(values.get(key)));
              outcomes.put(key, outcome(all));
            });
    return outcomes;
  }

  private Outcome outcome(List<Number> values) {
    Number own = values.get(0);
    if (processor.getWhenCount() == 0) {
      return new Outcome(
          meets(own, processor.getCondition().getThreshold()),
          meets(own, processor.getTrigger().getClear()),
          own);
    }
    ExpressionOracle when = new ExpressionOracle(processor.getWhenList(), values);
    boolean begins = when.holds();
    boolean lasts =
        processor.getClearCount() == 0
            ? begins
            : new ExpressionOracle(processor.getClearList(), values).holds();
    return new Outcome(begins, lasts, when.compared());
  }

  private boolean wantsAll() {
    if (processor.getWhenCount() > 0) {
      return new ExpressionOracle(processor.getWhenList(), List.of()).wantsAll();
    }
    return Set.of(Condition.Comparison.BELOW, Condition.Comparison.AT_MOST)
        .contains(processor.getCondition().getComparison());
  }

  private boolean meets(Number value, double threshold) {
    return switch (processor.getCondition().getComparison()) {
      case AT_LEAST -> value.doubleValue() >= threshold;
      case BELOW -> value.doubleValue() < threshold;
      case AT_MOST -> value.doubleValue() <= threshold;
      default -> value.doubleValue() > threshold;
    };
  }

  private List<String> wholeQuery(long slide) {
    Set<Long> ends = new TreeSet<>();
    samples.forEach(sample -> ends.add((sample.timeNs() / slide + 1) * slide));
    if (ends.isEmpty()) {
      return List.of();
    }
    long start = ends.iterator().next() - slide;
    List<String> windows = new ArrayList<>();
    for (long end : ends) {
      if (end <= lastEndNs) {
        windows.add(window(0, end, start, true));
      }
    }
    windows.add(window(0, lastEndNs + 1, start, false));
    return windows;
  }

  private String window(long beginNs, long endNs, long start, boolean partial) {
    Map<List<Object>, List<Object>> groups = groups(beginNs, endNs);
    List<Map.Entry<List<Object>, Number>> rows =
        new ArrayList<>(values(beginNs, endNs, start).entrySet());
    if (processor.hasCondition()) {
      double threshold = processor.getCondition().getThreshold();
      rows.removeIf(row -> !meets(row.getValue(), threshold));
    }
    Comparator<Map.Entry<List<Object>, Number>> order =
        Comparator.comparingDouble(row -> row.getValue().doubleValue());
    order = processor.getRanking().getAscending() ? order : order.reversed();
    rows.sort(order.thenComparing(Map.Entry::getKey, Oracle::compareKeys));
    int max = processor.hasRanking() ? processor.getRanking().getK() : rows.size();
    StringBuilder text =
        new StringBuilder(
            "[%d,%d)%s".formatted(start, endNs, partial && !rows.isEmpty() ? " partial" : ""));
    for (var row : rows.subList(0, Math.min(max, rows.size()))) {
      text.append("\n  ").append(row.getKey()).append(" = ").append(row.getValue());
      if (SHOWN_WITH_DISTRIBUTION.contains(processor.getAggregate())) {
        text.append(distribution(groups.get(row.getKey())));
      }
    }
    return text.toString();
  }

  private Map<List<Object>, List<Object>> groups(long beginNs, long endNs) {
    Map<List<Object>, List<Object>> groups = new HashMap<>();
    for (Sample sample : samples) {
      if (sample.timeNs() >= beginNs && sample.timeNs() < endNs) {
        groups.computeIfAbsent(sample.key(), key -> new ArrayList<>()).add(sample.value());
      }
    }
    return groups;
  }

  private Map<List<Object>, Number> values(long beginNs, long endNs, long start) {
    Map<List<Object>, Number> values = new HashMap<>();
    groups(beginNs, endNs).forEach((key, all) -> values.put(key, aggregate(all, endNs - start)));
    return values;
  }

  private static String distribution(List<Object> values) {
    List<Long> sorted = values.stream().map(value -> (long) value).sorted().toList();
    int n = sorted.size();
    return " n=%d min=%d max=%d p50=%d p90=%d p95=%d p99=%d"
        .formatted(
            n,
            sorted.get(0),
            sorted.get(n - 1),
            quantile(sorted, 0.5).longValue(),
            quantile(sorted, 0.9).longValue(),
            quantile(sorted, 0.95).longValue(),
            quantile(sorted, 0.99).longValue());
  }

  /**
   * Returns a quantile. If there are more distinct values than are kept exactly, returns the
   * quantile of {@link Values} after adding all values in order.
   */
  private static Number quantile(List<Long> sorted, double share) {
    if (sorted.stream().distinct().count() <= Values.EXACT) {
      return sorted.get((int) Math.ceil(share * sorted.size()) - 1);
    }
    Values all = new Values();
    sorted.forEach(all::add);
    double quantile = all.quantiles(share)[0];
    return quantile == Math.rint(quantile) ? Long.valueOf((long) quantile) : (Number) quantile;
  }

  /** Returns an aggregate; null if no tuple has a value. */
  private Number aggregate(List<Object> all, long windowNs) {
    List<Object> values = all.stream().filter(Objects::nonNull).toList();
    if (values.isEmpty()) {
      return null;
    }
    if (processor.getAggregate().equals("DISTINCT")) {
      return (long) new HashSet<>(values).size();
    }
    List<Long> sorted = values.stream().map(value -> (long) value).sorted().toList();
    int n = sorted.size();
    long sum = sorted.stream().mapToLong(Long::longValue).sum();
    return switch (processor.getAggregate()) {
      case "SUM" -> sum;
      case "MIN" -> sorted.get(0);
      case "MAX" -> sorted.get(n - 1);
      case "AVG", "DISTRIBUTION" -> (double) sum / n;
      case "RATE" -> sum / (windowNs / 1e9);
      case "PERCENTILE" -> quantile(sorted, processor.getShare());
      default -> (long) n;
    };
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static int compareKeys(List<Object> a, List<Object> b) {
    for (int i = 0; i < a.size(); i++) {
      int order = ((Comparable) a.get(i)).compareTo(b.get(i));
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  private static long nanoseconds(com.google.protobuf.Duration duration) {
    return duration.getSeconds() * 1_000_000_000 + duration.getNanos();
  }

  /** Returns the job's windows in the same format. */
  public static List<String> actual(List<JsonNode> windows) {
    List<String> texts = new ArrayList<>();
    for (JsonNode window : windows) {
      JsonNode rows = window.get("rows");
      StringBuilder text =
          new StringBuilder(
              "[%d,%d)%s"
                  .formatted(
                      window.get("start").asLong(),
                      window.get("end").asLong(),
                      rows.path(0).path("partial").asBoolean() ? " partial" : ""));
      for (JsonNode row : rows) {
        List<Object> key = new ArrayList<>();
        row.get("key")
            .forEach(field -> key.add(field.isNumber() ? field.asLong() : field.asText()));
        text.append("\n  ").append(key).append(" = ").append(number(row.get("value")));
        if (row.has("alert")) {
          String state = row.at("/alert/state").asText();
          text.append(" %s %d".formatted(state, row.at("/alert/since_ns").asLong()));
        }
        if (row.has("distribution")) {
          text.append(distribution(row.get("distribution")));
        }
      }
      texts.add(rows.path(0).has("alert") ? sortedLines(text.toString()) : text.toString());
    }
    return texts;
  }

  /** Sorts the alerts of a window, whose order is arbitrary. */
  private static String sortedLines(String text) {
    List<String> lines = new ArrayList<>(text.lines().toList());
    Collections.sort(lines.subList(1, lines.size()));
    return String.join("\n", lines);
  }

  private static Object number(JsonNode value) {
    if (value.isNull()) {
      return null;
    }
    return value.isFloatingPointNumber() ? (Object) value.asDouble() : (Object) value.asLong();
  }

  private static String distribution(JsonNode d) {
    return " n=%d min=%d max=%d p50=%d p90=%d p95=%d p99=%d"
        .formatted(
            d.get("count").asLong(),
            d.get("min").asLong(),
            d.get("max").asLong(),
            d.get("p50").asLong(),
            d.get("p90").asLong(),
            d.get("p95").asLong(),
            d.get("p99").asLong());
  }
}
