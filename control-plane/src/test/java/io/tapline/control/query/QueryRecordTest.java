package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests the format in which queries are stored, which the previous version also reads and writes.
 */
class QueryRecordTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** A record of an earlier version, with its step and state. */
  private static final String STORED =
      """
      {"step":"%s","job":"0123456789abcdef0123456789abcdef","mirrored":true,"stopping":false,
       "id":"q-1","text":"PARSE http_get","state":"%s","submitted_ns":1,"started_ns":2,"ended_ns":3,
       "error":"","notes":["a note"],"plan":"{}",
       "parts":["{\\"epoch\\":4,\\"monitors\\":[{\\"id\\":\\"m\\",\\"host\\":\\"h1\\"}]}"]}
      """;

  private static QueryRecord read(String step, String state) throws IOException {
    return QueryRecord.of(STORED.formatted(step, state).getBytes(StandardCharsets.UTF_8));
  }

  private static QueryRecord in(QueryState state) {
    Plan part =
        Plan.newBuilder().addMonitors(Monitor.newBuilder().setId("m").setHost("h1")).build();
    QueryInfo info = new QueryInfo("q-1", "PARSE http_get", state, 1, 2, 3, "why", List.of("note"));
    return new QueryRecord(
        info, "0".repeat(32), Plan.getDefaultInstance(), true, List.of(part), true);
  }

  @ParameterizedTest
  @CsvSource({
    "SUBMITTED, SUBMITTED, SUBMITTED",
    "SUBMITTED, STARTING, STARTING",
    "PLACED, STARTING, PLACED",
    "MIRRORING, STARTING, MIRRORING",
    "RUNNING, STARTING, MIRRORING",
    "RUNNING, RUNNING, RUNNING",
    "ENDING, FINISHED, FINISHED",
    "ENDING, STOPPED, STOPPED",
    "RUNNING, FAILED, FAILED",
    "ENDING, RUNNING, FAILED"
  })
  void readsStatesOfThePreviousVersion(String step, String state, QueryState expected)
      throws IOException {
    QueryRecord record = read(step, state);
    assertThat(record.info())
        .isEqualTo(
            new QueryInfo("q-1", "PARSE http_get", expected, 1, 2, 3, "", List.of("a note")));
    assertThat(record.job()).isEqualTo("0123456789abcdef0123456789abcdef");
    assertThat(record.mirrored()).isTrue();
    assertThat(record.hosts()).containsExactly("h1");
    assertThat(record.parts().get(0).getEpoch()).isEqualTo(4);
    assertThat(record.stopping()).isFalse();
    assertThat(record.hasEnded()).isEqualTo(expected.ended());
  }

  @ParameterizedTest
  @CsvSource({
    "SUBMITTED, SUBMITTED, SUBMITTED",
    "STARTING, SUBMITTED, STARTING",
    "PLACED, PLACED, STARTING",
    "MIRRORING, MIRRORING, STARTING",
    "RUNNING, RUNNING, RUNNING",
    "FINISHED, ENDING, FINISHED",
    "STOPPED, ENDING, STOPPED",
    "FAILED, ENDING, FAILED"
  })
  void previousVersionReadsNewRecords(QueryState state, String step, String shown)
      throws IOException {
    JsonNode json = MAPPER.readTree(in(state).bytes());
    assertThat(json.path("step").asText()).isEqualTo(step);
    assertThat(json.path("state").asText()).isEqualTo(shown);
    assertThat(json.properties().stream().map(entry -> entry.getKey()))
        .containsExactlyInAnyOrder(
            "step",
            "job",
            "mirrored",
            "stopping",
            "id",
            "text",
            "state",
            "submitted_ns",
            "started_ns",
            "ended_ns",
            "error",
            "notes",
            "plan",
            "parts");
  }

  @ParameterizedTest
  @EnumSource
  void aRecordIsReadBackUnchanged(QueryState state) throws IOException {
    assertThat(QueryRecord.of(in(state).bytes())).isEqualTo(in(state));
  }

  @Test
  void anUnknownStateIsAnError() {
    assertThatThrownBy(() -> read("PAUSED", "RUNNING"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("can't read the record");
  }
}
