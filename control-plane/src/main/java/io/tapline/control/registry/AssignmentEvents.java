package io.tapline.control.registry;

import com.fasterxml.jackson.databind.JsonNode;

/** What becomes of a query on one host. Called in order, on the registry's one thread. */
public interface AssignmentEvents {
  /**
   * What its host had and had not given out is lost: it was started anew, or let go of the query.
   * The last word, unless it is assigned again.
   */
  void lost(String reason);

  /**
   * Its host has been without a lease for so long that another may go on in its place. Whoever does
   * nothing waits for the host.
   */
  void away();

  /** Its packets are taken from now on; may be said again. */
  void running();

  /** How far its share of a LIMIT Np is used up (schema/agent.proto). */
  void credits(JsonNode status);

  /** It keeps no more than this share of the flows, a second and a half from now at the latest. */
  void limited(double rate);

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
