package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.options.Moment;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine.Option;

/** Options for the time span of a diagnosis. */
final class SpanOptions {
  @Option(
      names = "--from",
      paramLabel = "T",
      description = "Start of the span, " + Moment.HELP + ".")
  private String from;

  @Option(names = "--to", paramLabel = "T", description = "End of the span.")
  private String to;

  void addTo(ObjectNode request) {
    times().forEach(request::put);
  }

  /** Returns the span as the query part of a URL; empty if the span is unlimited. */
  String query() {
    return times().entrySet().stream()
        .map(time -> time.getKey() + "=" + time.getValue())
        .collect(Collectors.collectingAndThen(Collectors.joining("&"), SpanOptions::afterMark));
  }

  private static String afterMark(String parameters) {
    return parameters.isEmpty() ? "" : "?" + parameters;
  }

  private Map<String, Long> times() {
    Instant now = Instant.now();
    Map<String, Long> times = new LinkedHashMap<>();
    if (from != null) {
      times.put("from_ns", Moment.nanoseconds("--from", from, now));
    }
    if (to != null) {
      times.put("to_ns", Moment.nanoseconds("--to", to, now));
    }
    return times;
  }
}
