package io.tapline.flink.support;

import java.util.LinkedHashMap;
import java.util.Map;

/** One tuple, as the reference evaluator reads it and as the batch writer encodes it. */
public record Tuple(String parser, long timeNs, long flow, Map<String, Object> fields) {

  public static Tuple http(long timeNs, long flow, String url, long responseTimeNs) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("url", url);
    fields.put("response_time_ns", responseTimeNs);
    return new Tuple("http_get", timeNs, flow, fields);
  }

  /** Returns a tuple that may lack its request, its response or its response time (null). */
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

  /** Returns the address of a flow's server. */
  public String destination() {
    return "10.0.1." + (flow % 3);
  }

  public int sourcePort() {
    return (int) (1024 + flow % 60_000);
  }

  /** Returns the value of any column that can be in a key. */
  public Object field(String name) {
    return switch (name) {
      case "dst_ip" -> destination();
      case "src_port" -> (long) sourcePort();
      default -> fields.get(name);
    };
  }
}
