package io.tapline.control.access;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Set;

/**
 * How much of a server a tenant may take, all its tokens together.
 *
 * @param queries that run at once
 * @param eventStreams that are open at once
 * @param watches that hosts keep at once
 * @param requestsPerSecond on average; a second's worth may come at once after a pause
 */
public record Quota(int queries, int eventStreams, int watches, int requestsPerSecond) {
  /** Of admins, and where there are no tokens: what the server itself can do is the bound. */
  public static final Quota NONE =
      new Quota(Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE);

  /** Of a tenant that the file says nothing else of. */
  public static final Quota USUAL = new Quota(6, 64, 20, 50);

  private static final Set<String> MEMBERS =
      Set.of("queries", "event_streams", "watches", "requests_per_second");

  /**
   * A tenant's entry in a file.
   *
   * @param usual for what the entry leaves out
   * @throws IllegalArgumentException with what is wrong
   */
  static Quota read(JsonNode node, Quota usual) {
    for (Map.Entry<String, JsonNode> member : node.properties()) {
      if (!MEMBERS.contains(member.getKey())) {
        throw new IllegalArgumentException("unknown member \"" + member.getKey() + "\"");
      }
    }
    return new Quota(
        number(node, "queries", usual.queries(), 0),
        number(node, "event_streams", usual.eventStreams(), 0),
        number(node, "watches", usual.watches(), 0),
        number(node, "requests_per_second", usual.requestsPerSecond(), 1));
  }

  private static int number(JsonNode node, String name, int usual, int least) {
    JsonNode value = node.path(name);
    if (value.isMissingNode()) {
      return usual;
    }
    if (!value.isInt() || value.asInt() < least) {
      throw new IllegalArgumentException(name + ": a whole number, " + least + " or more");
    }
    return value.asInt();
  }
}
