package io.tapline.control.watches;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.text.Literals;
import io.tapline.control.drill.WatchSpec;
import java.util.ArrayList;
import java.util.List;

/** The text of the query that runs a watch in a monitor. */
final class MonitorQuery {
  private MonitorQuery() {}

  /** Returns the query; a restricted owner sees the connections to its networks. */
  static String text(WatchSpec watch) {
    List<String> arguments = new ArrayList<>();
    arguments.add("when=\"%s\"".formatted(watch.when()));
    if (!watch.aggregate().groupBy().isEmpty()) {
      arguments.add("group=(%s)".formatted(String.join(", ", watch.aggregate().groupBy())));
    }
    if (!watch.filter().text().isBlank()) {
      arguments.add("only=\"%s\"".formatted(watch.filter().text()));
    }
    arguments.add("every=" + Literals.durationText(Durations.fromNanos(watch.everyNs())));
    arguments.add("severity=" + watch.severity());
    String limits = watch.filter().scope().limits().orElse("*");
    return "PARSE packets FROM * TO %s SAMPLE * PROCESS (trigger: %s)"
        .formatted(limits, String.join(", ", arguments));
  }
}
