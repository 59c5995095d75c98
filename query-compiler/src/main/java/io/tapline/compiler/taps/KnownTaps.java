package io.tapline.compiler.taps;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The taps of the monitors that can run a query. Both sides of a queue must reach the same monitor.
 *
 * @param monitors taps of each monitor, as SWITCH[:PORT[:arrivals|departures]]
 * @param copied whether switches can copy both sides of a queue, so that it needs no taps
 */
public record KnownTaps(List<List<String>> monitors, boolean copied) {
  private static final String ARRIVALS = ":arrivals";
  private static final String DEPARTURES = ":departures";

  public KnownTaps {
    monitors = monitors.stream().map(List::copyOf).toList();
  }

  /** Creates taps for a network whose switches can't copy queues. */
  public KnownTaps(List<List<String>> monitors) {
    this(monitors, false);
  }

  /** Returns these taps for queries whose queues can also be copied by switches. */
  public KnownTaps withCopies() {
    return new KnownTaps(monitors, true);
  }

  /** Returns the taps in one monitor's {@code --tap} options, which have the form PLACE=SOURCE. */
  public static KnownTaps ofOptions(Collection<String> options) {
    return new KnownTaps(
        List.of(
            options.stream()
                .map(text -> text.substring(0, Math.max(0, text.indexOf('='))))
                .toList()));
  }

  /** Returns the queues, as SWITCH:PORT, that have both sides among one monitor's taps. */
  public static Stream<String> queuesOf(List<String> taps) {
    return taps.stream()
        .filter(place -> place.endsWith(ARRIVALS))
        .map(place -> place.substring(0, place.length() - ARRIVALS.length()))
        .filter(queue -> missing(taps, queue).isEmpty())
        .distinct();
  }

  private static List<String> missing(List<String> taps, String queue) {
    List<String> missing = new ArrayList<>(List.of(queue + ARRIVALS, queue + DEPARTURES));
    missing.removeAll(taps);
    return missing;
  }

  /** Returns a queue's missing taps on the monitor that lacks the fewest. */
  public List<String> missing(String queue) {
    return monitors.stream()
        .map(taps -> missing(taps, queue))
        .min(Comparator.comparingInt(List::size))
        .orElse(missing(List.of(), queue));
  }

  /** Returns the queues, as SWITCH:PORT, that have both sides among some monitor's taps. */
  public List<String> queues() {
    return monitors.stream().flatMap(KnownTaps::queuesOf).distinct().toList();
  }
}
