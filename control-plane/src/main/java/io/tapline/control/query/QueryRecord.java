package io.tapline.control.query;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The persistent record needed to resume a query.
 *
 * @param info the query and, once known, how it ends
 * @param job ID of the stream job: 32 hexadecimal digits
 * @param plan the job's plan
 * @param mirrored true if switches mirror packets for it, false if its hosts see them without
 *     mirroring
 * @param parts the query's parts: for each monitor, a plan with that monitor, its host, and the
 *     current epoch of the assignment
 * @param stopping true if it was asked to stop
 */
public record QueryRecord(
    QueryInfo info, String job, Plan plan, boolean mirrored, List<Plan> parts, boolean stopping) {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  public QueryRecord {
    parts = List.copyOf(parts);
  }

  public String id() {
    return info.id();
  }

  /** Returns the hosts of its parts. */
  Set<String> hosts() {
    Set<String> hosts = new TreeSet<>();
    parts.forEach(part -> hosts.add(part.getMonitors(0).getHost()));
    return hosts;
  }

  /** Returns true if the query's end is recorded, so that only the cleanup remains. */
  boolean hasEnded() {
    return info.state().ended();
  }

  QueryRecord with(QueryInfo newInfo) {
    return new QueryRecord(newInfo, job, plan, mirrored, parts, stopping);
  }

  QueryRecord with(List<Plan> newParts) {
    return new QueryRecord(info, job, plan, mirrored, newParts, stopping);
  }

  QueryRecord stopped() {
    return new QueryRecord(info, job, plan, mirrored, parts, true);
  }

  /** Returns the record as JSON in UTF-8. */
  public byte[] bytes() {
    ObjectNode json = MAPPER.createObjectNode();
    StoredState storedState = StoredState.of(info.state());
    json.put("step", storedState.step().name()).put("job", job).put("mirrored", mirrored);
    json.put("stopping", stopping);
    json.put("id", info.id()).put("text", info.text()).put("state", storedState.shown().name());
    json.put("submitted_ns", info.submittedNs());
    json.put("started_ns", info.startedNs()).put("ended_ns", info.endedNs());
    json.put("error", info.error()).set("notes", MAPPER.valueToTree(info.notes()));
    json.put("plan", Plans.toJson(plan));
    ArrayNode array = json.putArray("parts");
    parts.forEach(part -> array.add(Plans.toJson(part)));
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Parses the result of {@link #bytes}. */
  public static QueryRecord of(byte[] bytes) throws IOException {
    JsonNode json = MAPPER.readTree(bytes);
    try {
      QueryInfo info =
          new QueryInfo(
              json.path("id").asText(),
              json.path("text").asText(),
              state(json),
              json.path("submitted_ns").asLong(),
              json.path("started_ns").asLong(),
              json.path("ended_ns").asLong(),
              json.path("error").asText(),
              MAPPER.convertValue(json.path("notes"), new TypeReference<>() {}));
      List<Plan> parts = new ArrayList<>();
      for (JsonNode part : json.path("parts")) {
        parts.add(Plans.fromJson(part.asText()));
      }
      return new QueryRecord(
          info,
          json.path("job").asText(),
          Plans.fromJson(json.path("plan").asText()),
          json.path("mirrored").asBoolean(),
          parts,
          json.path("stopping").asBoolean());
    } catch (IllegalArgumentException e) {
      throw new IOException("can't read the record of a query: " + e.getMessage(), e);
    }
  }

  private static QueryState state(JsonNode json) {
    return new StoredState(
            QueryState.valueOf(json.path("state").asText()),
            StoredState.Step.valueOf(json.path("step").asText()))
        .state();
  }
}
