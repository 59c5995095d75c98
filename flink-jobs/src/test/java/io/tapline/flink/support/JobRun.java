package io.tapline.flink.support;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;

/** Reads a query's results from Redis. */
public final class JobRun {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private JobRun() {}

  /** Returns all windows of one processor in the order in which they were written. */
  public static List<JsonNode> windows(Jedis redis, String query, int processor) throws Exception {
    List<JsonNode> windows = new ArrayList<>();
    var entries = redis.xrange("tapline:query:" + query + ":windows", (StreamEntryID) null, null);
    for (var entry : entries) {
      var fields = entry.getFields();
      if (fields.get("processor").equals(Integer.toString(processor))) {
        var window = MAPPER.createObjectNode();
        window.put("start", Long.parseLong(fields.get("window_start_ns")));
        window.put("end", Long.parseLong(fields.get("window_end_ns")));
        window.set("rows", MAPPER.readTree(fields.get("rows")));
        window.set("completeness", MAPPER.readTree(fields.get("completeness")));
        windows.add(window);
      }
    }
    return windows;
  }
}
