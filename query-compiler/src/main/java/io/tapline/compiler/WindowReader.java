package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.schema.proto.Window;
import java.math.BigInteger;
import java.util.Optional;

/**
 * Reads the arguments w and s, or w and every. The stream job aggregates in panes as wide as the
 * greatest common divisor of the two, so their number per window is limited.
 */
final class WindowReader {
  private static final long DEFAULT_SNAPSHOT_NS = 10_000 * Literals.NS_PER_MS;
  private static final long MIN_DEFAULT_SLIDE_NS = 1_000 * Literals.NS_PER_MS;
  private static final int DEFAULT_SLIDES = 10;

  private final Arguments arguments;
  private final Errors errors;

  private WindowReader(Arguments arguments, Errors errors) {
    this.arguments = arguments;
    this.errors = errors;
  }

  /** Reads a window of bounded length. */
  static Window rolling(Arguments arguments, Errors errors) {
    Optional<Long> size = arguments.windowNs("w");
    boolean isWrong = arguments.has("w") && size.isEmpty();
    WindowReader reader = new WindowReader(arguments, errors);
    return isWrong
        ? reader.wrong()
        : reader.sized(size.orElse(ProcessorCatalogue.DEFAULT_WINDOW_NS));
  }

  /** Reads a window that spans the whole query if w is missing. */
  static Window wholeQueryOr(Arguments arguments, Errors errors) {
    if (arguments.has("w")) {
      return rolling(arguments, errors);
    }
    long slide = arguments.windowNs("s").orElse(DEFAULT_SNAPSHOT_NS);
    return Window.newBuilder().setSlide(Durations.fromNanos(slide)).build();
  }

  /** Reads windows that end at multiples of {@code every=}, which is also their default length. */
  static Window every(Arguments arguments, Errors errors) {
    WindowReader reader = new WindowReader(arguments, errors);
    long minNs = ProcessorCatalogue.SHORTEST_PACKET_WINDOW_NS;
    long slide = arguments.windowNs("every", minNs).orElse(MIN_DEFAULT_SLIDE_NS);
    long size = arguments.windowNs("w", minNs).orElse(slide);
    reader.check(size, slide, "every", minNs);
    return Window.newBuilder()
        .setSize(Durations.fromNanos(size))
        .setSlide(Durations.fromNanos(slide))
        .build();
  }

  /** Reports errors in s, too, and returns an empty window. REQUIRES: w is invalid. */
  private Window wrong() {
    arguments.windowNs("s");
    return Window.getDefaultInstance();
  }

  private Window sized(long sizeNs) {
    Optional<Long> slide = arguments.windowNs("s");
    slide.ifPresent(slideNs -> check(sizeNs, slideNs, "s", ProcessorCatalogue.SHORTEST_WINDOW_NS));
    return Window.newBuilder()
        .setSize(Durations.fromNanos(sizeNs))
        .setSlide(Durations.fromNanos(slide.orElse(defaultSlideNs(sizeNs))))
        .build();
  }

  /** Returns a tenth of the window, at least 1 s, at most the window. */
  private static long defaultSlideNs(long sizeNs) {
    return Math.min(sizeNs, Math.max(sizeNs / DEFAULT_SLIDES, MIN_DEFAULT_SLIDE_NS));
  }

  private void check(long sizeNs, long slideNs, String name, long minNs) {
    String size = Literals.durationText(sizeNs);
    String slide = Literals.durationText(slideNs);
    long paneNs = BigInteger.valueOf(sizeNs).gcd(BigInteger.valueOf(slideNs)).longValueExact();
    if (slideNs > sizeNs) {
      String message = "%s=%s is longer than w=%s".formatted(name, slide, size);
      errors.range(arguments.span(name), message, Literals.durationText(minNs) + " to " + size);
    } else if (sizeNs / paneNs > ProcessorCatalogue.MAX_PANES) {
      String message =
          "w=%s and %s=%s make %d panes of %s"
              .formatted(size, name, slide, sizeNs / paneNs, Literals.durationText(paneNs));
      String expected =
          "at most %d panes; choose a larger %s, or one that divides w"
              .formatted(ProcessorCatalogue.MAX_PANES, name);
      errors.range(arguments.span(name), message, expected);
    }
  }
}
