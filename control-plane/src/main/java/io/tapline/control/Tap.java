package io.tapline.control;

import java.util.stream.Stream;

/**
 * A tap of this host's monitor: the switch or port that copies packets, and the interface or file
 * from which the monitor reads them. Only the monitor validates the complete syntax.
 *
 * @param text SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE
 */
public record Tap(String text) {
  /**
   * Checks that the text names a switch or port, and a source.
   *
   * @throws IllegalArgumentException if either is missing; the message gives the expected form
   */
  public Tap {
    if (source(text).isEmpty()) {
      throw new IllegalArgumentException(
          "'%s' is not a tap: expected SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE, for example sw1:eth2:arrivals=mon0"
              .formatted(text));
    }
  }

  /** Returns the name of the interface or file; FILE#INTERFACE for one interface of a pcapng. */
  public String source() {
    return source(text);
  }

  /**
   * Returns true if the source is a capture file, judging by its name. The monitor applies the same
   * rule.
   */
  public boolean file() {
    String source = source();
    int interfaces = source.lastIndexOf('#');
    String name = interfaces < 0 ? source : source.substring(0, interfaces);
    return source.contains("/")
        || Stream.of(".pcap", ".pcapng", ".cap", ".zst").anyMatch(name::endsWith);
  }

  private static String source(String text) {
    int equals = text.indexOf('=');
    return equals <= 0 ? "" : text.substring(equals + 1);
  }
}
