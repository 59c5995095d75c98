package io.tapline.flink.support;

import java.util.LinkedHashMap;
import java.util.Map;

/** A tuple, both for the reference evaluator and for encoding in batches. */
public record Tuple(String parser, long timeNs, long flow, Map<String, Object> fields) {

  public static Tuple http(long timeNs, long flow, String url, long responseTimeNs) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("url", url);
    fields.put("response_time_ns", responseTimeNs);
    return new Tuple("http_get", timeNs, flow, fields);
  }

  /**
   * Returns the tuple of a transaction that may lack its request or its response. {@code url} and
   * {@code responseTimeNs} may be null.
   */
  public static Tuple http(
      long timeNs, long flow, String url, Long responseTimeNs, String partial, boolean unanswered) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("url", url);
    fields.put("response_time_ns", responseTimeNs);
    fields.put("partial", partial);
    fields.put("unanswered", unanswered);
    return new Tuple("http_get", timeNs, flow, fields);
  }

  public static Tuple event(long timeNs, long flow, String event) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("event", event);
    fields.put("certain_after_ns", event.equals("rst") ? 1_000L : 0L);
    return new Tuple("tcp_conn_time", timeNs, flow, fields);
  }

  /** Returns the server's address, which depends only on the flow. */
  public String destination() {
    return "10.0.1." + (flow % 3);
  }

  public int sourcePort() {
    return (int) (1024 + flow % 60_000);
  }

  /** Returns the value of a column that can be part of a key. */
  public Object field(String name) {
    return switch (name) {
      case "dst_ip" -> destination();
      case "src_port" -> (long) sourcePort();
      default -> fields.get(name);
    };
  }
}
