package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Window;
import java.util.List;

/**
 * Adapts windows to parsers that emit tuples once per interval. A shorter window would receive
 * either all of an interval's tuples or none, regardless of the part of the interval that it
 * covers.
 */
final class IntervalReader {
  private final ParserInfo parser;
  private final Arguments arguments;
  private final Errors errors;

  private IntervalReader(ParserInfo parser, Arguments arguments, Errors errors) {
    this.parser = parser;
    this.arguments = arguments;
    this.errors = errors;
  }

  /** Returns the parsers with the intervals set by the query's arguments. */
  static List<ParserInfo> choose(List<ParserInfo> parsers, List<ParserArgument> values) {
    return parsers.stream().map(parser -> choose(parser, values)).toList();
  }

  private static ParserInfo choose(ParserInfo parser, List<ParserArgument> values) {
    return values.stream()
        .filter(value -> value.getParser().equals(parser.name()))
        .filter(value -> parser.intervalArgument().filter(value.getName()::equals).isPresent())
        .findFirst()
        .map(value -> parser.emittingEvery(Long.parseLong(value.getValue())))
        .orElse(parser);
  }

  /**
   * Returns the window, with its defaults extended to at least the parser's interval. Reports an
   * error if an explicit length or slide is shorter.
   */
  static Window fit(Window window, ParserInfo parser, Arguments arguments, Errors errors) {
    if (parser.intervalNs() == 0) {
      return window;
    }
    IntervalReader reader = new IntervalReader(parser, arguments, errors);
    Window.Builder fitting = window.toBuilder();
    if (window.hasSize()) {
      long sizeNs = reader.atLeastInterval("w", Durations.toNanos(window.getSize()));
      fitting.setSize(Durations.fromNanos(sizeNs));
    }
    String slide = arguments.has("every") ? "every" : "s";
    long slideNs = reader.atLeastInterval(slide, Durations.toNanos(window.getSlide()));
    return fitting.setSlide(Durations.fromNanos(slideNs)).build();
  }

  private long atLeastInterval(String argument, long givenNs) {
    if (givenNs >= parser.intervalNs()) {
      return givenNs;
    }
    if (arguments.has(argument)) {
      refuse(argument);
    }
    return parser.intervalNs();
  }

  /**
   * Reports that a trigger's windows are too short for a parser's tuples.
   *
   * @param reason why the monitor can't test the trigger on packets, as the end of a sentence
   */
  static void refuse(ParserInfo parser, Arguments arguments, String reason, Errors errors) {
    String min = Literals.durationText(parser.intervalNs());
    String message =
        "%s emits tuples once %s, and the monitor can't test this trigger on packets: %s"
            .formatted(parser.name(), often(min), reason);
    String expected = "%s to 24h, or a trigger that the monitor can test".formatted(min);
    errors.add(arguments.span("every"), QueryError.Code.RANGE, message, expected, min);
  }

  private void refuse(String argument) {
    String min = Literals.durationText(parser.intervalNs());
    String message =
        "%s emits tuples once %s: %s must be at least %s, since a shorter window gets either all of an interval's tuples or none"
            .formatted(parser.name(), often(min), argument, min);
    String advice =
        parser
            .intervalArgument()
            .map(name -> "a shorter interval: %s(%s=…)".formatted(parser.name(), name))
            .orElse("a parser that emits per event");
    String expected = "%s to 24h, or %s".formatted(min, advice);
    errors.add(arguments.span(argument), QueryError.Code.RANGE, message, expected, min);
  }

  private static String often(String interval) {
    return interval.equals("1s") ? "a second" : "every " + interval;
  }
}
