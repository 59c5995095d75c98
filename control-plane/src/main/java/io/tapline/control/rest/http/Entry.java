package io.tapline.control.rest.http;

import redis.clients.jedis.StreamEntryID;

/**
 * Entry IDs of a query's stream of windows, which clients send back to resume at their position.
 */
public final class Entry {
  private Entry() {}

  /**
   * Validates an entry ID that a client sent.
   *
   * @param name name of the parameter or header, for the message
   * @return the entry ID; empty if none was given
   */
  public static String parse(String name, String text) {
    if (text == null || text.isEmpty()) {
      return "";
    }
    if (!text.matches("\\d{1,18}-\\d{1,18}")) {
      throw Problem.badRequest(
              name
                  + "="
                  + text
                  + ": it must be an entry of results or events, like 1763700000000-0")
          .asException();
    }
    return text;
  }

  /** Returns true if one entry of a stream comes before another; {@code ""} comes before all. */
  public static boolean isBefore(String entry, String otherEntry) {
    if (entry.isEmpty() || otherEntry.isEmpty()) {
      return entry.isEmpty() && !otherEntry.isEmpty();
    }
    return new StreamEntryID(entry).compareTo(new StreamEntryID(otherEntry)) < 0;
  }
}
