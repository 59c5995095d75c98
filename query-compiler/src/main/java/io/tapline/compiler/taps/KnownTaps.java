package io.tapline.compiler.taps;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The taps of the monitors that a query may run in. Both sides of a queue have to come to one
 * monitor.
 *
 * @param monitors by monitor, SWITCH[:PORT[:arrivals|departures]] of each tap
 */
public record KnownTaps(List<List<String>> monitors) {
  private static final String ARRIVALS = ":arrivals";
  private static final String DEPARTURES = ":departures";

  public KnownTaps {
    monitors = monitors.stream().map(List::copyOf).toList();
  }

  /** Returns the taps of one monitor's {@code --tap} options: PLACE=SOURCE. */
  public static KnownTaps ofOptions(Collection<String> options) {
    return new KnownTaps(
        List.of(
            options.stream()
                .map(text -> text.substring(0, Math.max(0, text.indexOf('='))))
                .toList()));
  }

  /** Returns the queues of which these taps of one monitor show both sides: SWITCH:PORT of each. */
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

  /** Returns the taps of a queue, as places, that the monitor with most of them lacks. */
  public List<String> missing(String queue) {
    return monitors.stream()
        .map(taps -> missing(taps, queue))
        .min(Comparator.comparingInt(List::size))
        .orElse(missing(List.of(), queue));
  }

  /** Returns the queues that have taps on both sides: SWITCH:PORT of each. */
  public List<String> queues() {
    return monitors.stream().flatMap(KnownTaps::queuesOf).distinct().toList();
  }
}
