package io.tapline.control.registry;

import com.fasterxml.jackson.databind.JsonNode;

/** What becomes of a query on one host. Called in order, on the registry's one thread. */
public interface AssignmentEvents {
  /** Its packets are taken from now on; may be said again. */
  void running();

  /** All that it has seen is out; the last word. */
  void ended(JsonNode status);

  /**
   * It will not run, or not to its end; the last word.
   *
   * @param kind whose fault it is, as the monitor says: "user", "resources" or "internal"
   */
  void failed(String kind, String reason);

  /** Something that a person should know, and that changes nothing. */
  void warning(String message);
}
