package io.tapline.control.access;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Set;

/**
 * The share of a server that a tenant may use, across all of its tokens.
 *
 * @param queries maximum number of concurrent queries
 * @param eventStreams maximum number of open event streams
 * @param watches maximum number of concurrent watches
 * @param requestsPerSecond average rate; after a pause, bursts of up to one second's worth are
 *     allowed
 * @param triggerGroups maximum number of groups that the triggers of a query count separately in a
 *     window
 * @param triggerPercent maximum share of a core that triggers may take in a monitor, in percent
 */
public record Quota(
    int queries,
    int eventStreams,
    int watches,
    int requestsPerSecond,
    int triggerGroups,
    int triggerPercent) {
  /**
   * No limits except the server's own: the default for admins, and used by servers without tokens.
   */
  public static final Quota NONE =
      new Quota(
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE);

  /** Default quota of viewers and analysts. */
  public static final Quota USUAL = new Quota(6, 64, 20, 50, Integer.MAX_VALUE, Integer.MAX_VALUE);

  private static final Set<String> MEMBERS =
      Set.of(
          "queries",
          "event_streams",
          "watches",
          "requests_per_second",
          "trigger_groups",
          "trigger_percent");

  /**
   * Parses a tenant's entry in a token file.
   *
   * @param usualQuota values for members that the entry omits
   * @throws IllegalArgumentException with a description of the error
   */
  static Quota read(JsonNode node, Quota usualQuota) {
    for (Map.Entry<String, JsonNode> member : node.properties()) {
      if (!MEMBERS.contains(member.getKey())) {
        throw new IllegalArgumentException("unknown member \"" + member.getKey() + "\"");
      }
    }
    return new Quota(
        number(node, "queries", usualQuota.queries(), 0),
        number(node, "event_streams", usualQuota.eventStreams(), 0),
        number(node, "watches", usualQuota.watches(), 0),
        number(node, "requests_per_second", usualQuota.requestsPerSecond(), 1),
        number(node, "trigger_groups", usualQuota.triggerGroups(), 1),
        number(node, "trigger_percent", usualQuota.triggerPercent(), 0));
  }

  private static int number(JsonNode node, String name, int usual, int min) {
    JsonNode value = node.path(name);
    if (value.isMissingNode()) {
      return usual;
    }
    if (!value.isInt() || value.asInt() < min) {
      throw new IllegalArgumentException(name + " must be a whole number of at least " + min);
    }
    return value.asInt();
  }
}
