package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.options.Moment;
import java.time.Instant;
import picocli.CommandLine.Option;

/** Options for the time span of a question. */
final class SpanOptions {
  @Option(names = "--from", paramLabel = "T", description = "Not before T, " + Moment.HELP + ".")
  private String from;

  @Option(names = "--to", paramLabel = "T", description = "Not after T.")
  private String to;

  void addTo(ObjectNode request) {
    Instant now = Instant.now();
    if (from != null) {
      request.put("from_ns", Moment.nanoseconds("--from", from, now));
    }
    if (to != null) {
      request.put("to_ns", Moment.nanoseconds("--to", to, now));
    }
  }
}
