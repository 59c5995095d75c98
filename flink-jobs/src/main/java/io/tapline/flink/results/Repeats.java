package io.tapline.flink.results;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.group.Exemplars;
import java.io.IOException;
import java.util.Arrays;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * Finds windows that only repeat the previous one. When all monitors have ended, every window that
 * still contains a tuple closes immediately: {@code w=1h, s=1m} over five seconds would produce
 * sixty tables with the same rows. A window is a repeat if it and the previous one both end after
 * the observation and have equal rows.
 *
 * <p>Not checkpointed, since these windows all close within one call. Not thread-safe.
 */
final class Repeats {
  /**
   * Empty exemplars that replace those of the rows, since windows that differ only in exemplars are
   * repeats.
   */
  private static final Exemplars NO_FLOWS = new Exemplars();

  private final QuerySpec query;
  private final long observedNs;
  private final long[] lastEndNs;
  private final byte[][] lastRows;

  /** Compares the windows of a query whose observation ended at {@code observedNs}. */
  Repeats(QuerySpec query, long observedNs) {
    this.query = query;
    this.observedNs = observedNs;
    lastEndNs = new long[query.processors().size()];
    lastRows = new byte[lastEndNs.length][];
  }

  /**
   * Returns true if this window repeats the previous one of its processor; stores its rows for the
   * next call.
   */
  boolean take(WindowRows window) throws IOException {
    ProcessorSpec spec = query.processors().get(window.processor());
    if (window.endNs() <= observedNs || spec.window().isWholeQuery() || spec.trigger() != null) {
      return false;
    }
    byte[] rows = bytes(window);
    boolean repeats =
        lastRows[spec.index()] != null
            && lastEndNs[spec.index()] == window.endNs() - spec.window().slideNs()
            && Arrays.equals(rows, lastRows[spec.index()]);
    lastEndNs[spec.index()] = window.endNs();
    lastRows[spec.index()] = rows;
    return repeats;
  }

  private static byte[] bytes(WindowRows window) throws IOException {
    DataOutputSerializer out = new DataOutputSerializer(1024);
    for (ResultRow row : window.rows()) {
      new ResultRow(row.key(), row.value(), row.details(), row.counts(), NO_FLOWS, null).write(out);
    }
    return out.getCopyOfBuffer();
  }
}
