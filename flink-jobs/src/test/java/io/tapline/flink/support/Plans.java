package io.tapline.flink.support;

import com.google.protobuf.util.JsonFormat;
import io.tapline.schema.proto.Plan;

/** Builds plans and processors for tests. */
public final class Plans {
  /** The condition that a request's URL is {@code /page1}, which the plan contains in base64. */
  public static final String ONLY_PAGE_1 =
      "{\"nodes\":[{\"membership\":{\"field\":{\"name\":\"url\"},\"ranges\":[{\"low\":{\"text\":\"L3BhZ2Ux\"}}]}}]}";

  private Plans() {}

  /**
   * Returns a plan over monitors m0, m1… in partitions 0, 1…. The processors are JSON, separated by
   * commas.
   */
  public static Plan plan(String query, int monitors, String processors) {
    StringBuilder monitorList = new StringBuilder();
    for (int i = 0; i < monitors; i++) {
      monitorList
          .append(i == 0 ? "" : ",")
          .append("{\"id\":\"m%d\",\"partition\":%d}".formatted(i, i));
    }
    return parse(
        """
        {"format":1,"query":"%s","epoch":1,"parsers":["tcp_conn_time","http_get"],
         "topic":"tapline.tuples.%s","monitors":[%s],"processors":[%s]}"""
            .formatted(query, query, monitorList, processors));
  }

  public static Plan parse(String json) {
    Plan.Builder plan = Plan.newBuilder();
    try {
      JsonFormat.parser().merge(json, plan);
    } catch (com.google.protobuf.InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(json, e);
    }
    return plan.build();
  }

  /** Returns a processor that ranks the most frequent URLs. */
  public static String topK(int k, String size, String slide) {
    return """
        {"name":"top-k","parser":"http_get","key":["url"],"value":{"count":{},"unit":"count"},
         "ranking":{"k":%d},"window":{"size":"%s","slide":"%s"}}"""
        .formatted(k, size, slide);
  }

  /** Returns a processor that aggregates response times by some fields. */
  public static String group(String aggregate, String key, String window) {
    return """
        {"name":"group-%s","parser":"http_get","key":[%s],
         "value":{"field":"response_time_ns","unit":"ns"},"aggregate":"%s","window":{%s}}"""
        .formatted(aggregate.toLowerCase(), key, aggregate, window);
  }

  /** Returns the processor with additional members such as {@code ,"share":0.9}. */
  public static String with(String processor, String furtherText) {
    return processor.substring(0, processor.lastIndexOf('}')) + furtherText + "}";
  }

  /** Returns a processor that counts the distinct values of a field, grouped by other fields. */
  public static String distinct(String field, String key, String window) {
    return """
        {"name":"distinct","parser":"http_get","key":[%s],"value":{"field":"%s"},
         "aggregate":"DISTINCT","window":{%s}}"""
        .formatted(key, field, window);
  }

  /** Returns a processor that counts requests by some fields, in total or per second. */
  public static String counts(String aggregate, String key, String window) {
    return """
        {"name":"count","parser":"http_get","key":[%s],"value":{"count":{},"unit":"count"},
         "aggregate":"%s","window":{%s}}"""
        .formatted(key, aggregate, window);
  }

  /** Returns a processor that aggregates connection times by some fields. */
  public static String diff(String aggregate, String key, String window) {
    return """
        {"name":"diff-group","parser":"tcp_conn_time","key":[%s],
         "value":{"difference":{"event_field":"event","start":["syn"],"end":["fin","rst"]},"unit":"ns"},
         "aggregate":"%s","window":{%s}}"""
        .formatted(key, aggregate, window);
  }

  /**
   * Returns a processor that aggregates connection times by destination and URL, joined from
   * http_get.
   */
  public static String join(String aggregate, String window) {
    return """
        {"name":"diff-group","parser":"tcp_conn_time","join":{"parser":"http_get","fields":["url"]},
         "key":["dst_ip","url"],
         "value":{"difference":{"event_field":"event","start":["syn"],"end":["fin","rst"]},"unit":"ns"},
         "aggregate":"%s","window":{%s}}"""
        .formatted(aggregate, window);
  }
}
