package io.tapline.flink;

import io.tapline.schema.proto.Processor;
import java.io.Serializable;
import java.math.BigInteger;

/**
 * A processor's windows.
 *
 * @param sizeNs window size; 0 if a single window spans the whole query
 * @param paneNs greatest common divisor of size and slide; the slide if a single window spans the
 *     whole query
 */
public record WindowSpec(long sizeNs, long slideNs, long paneNs) implements Serializable {
  /**
   * Maximum number of panes in a window. A window with more would cost more to slide than to
   * recompute.
   */
  static final long MAX_PANES = 100_000;

  static WindowSpec of(Processor processor, AggregateSpec aggregate) {
    String name = processor.getName();
    long size = nanoseconds(name, "size", processor.getWindow().getSize());
    long slide = nanoseconds(name, "slide", processor.getWindow().getSlide());
    ProcessorSpec.check(slide > 0, name, "has a window without a slide");
    ProcessorSpec.check(
        size > 0 || !aggregate.type().needsWindow(),
        name,
        "is a %s without a window, so the start of its interval is unknown"
            .formatted(aggregate.name()));
    long pane = size == 0 ? slide : gcd(size, slide);
    ProcessorSpec.check(
        size / pane <= MAX_PANES, name, "has a window of more than " + MAX_PANES + " panes");
    return new WindowSpec(size, slide, pane);
  }

  private static long nanoseconds(String name, String part, com.google.protobuf.Duration duration) {
    long limit = Long.MAX_VALUE / 4 / 1_000_000_000;
    ProcessorSpec.check(
        duration.getSeconds() >= 0 && duration.getSeconds() < limit && duration.getNanos() >= 0,
        name,
        "has a window " + part + " out of range");
    return duration.getSeconds() * 1_000_000_000 + duration.getNanos();
  }

  static long gcd(long a, long b) {
    return BigInteger.valueOf(a).gcd(BigInteger.valueOf(b)).max(BigInteger.ONE).longValueExact();
  }

  public boolean isWholeQuery() {
    return sizeNs == 0;
  }

  /** Returns the number of panes in a window; 1 for the whole query. */
  public long panes() {
    return isWholeQuery() ? 1 : sizeNs / paneNs;
  }

  public long paneOf(long timeNs) {
    return Math.floorDiv(timeNs, paneNs);
  }
}
