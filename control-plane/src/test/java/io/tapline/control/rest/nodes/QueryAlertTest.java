package io.tapline.control.rest.nodes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.drill.DrillException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the conditions that select the headers behind a query's alerts. */
class QueryAlertTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String NETWORKS =
      "{'networks': [{'field': 'src_ip', 'ipv4': 24, 'ipv6': 64}]}";

  private static JsonNode json(String text) throws Exception {
    return MAPPER.readTree(text.replace('\'', '"'));
  }

  private static AlertHeaders headers(String members, String processor) throws Exception {
    String row = "{'window_start_ns': 1000, 'window_end_ns': 2000, %s}".formatted(members);
    return QueryAlert.headers("q1-0-00000000000000aa-5", json(row), json(processor));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '~',
      value = {
        "{} ; ~~",
        "{'src_ip': '10.1.2.3'} ; (src_ip == 10.1.2.3) || (dst_ip == 10.1.2.3)",
        "{'src_ip': '10.1.2.3', 'dst_port': 80} ;"
            + " (src_ip == 10.1.2.3 && dst_port == 80) || (dst_ip == 10.1.2.3 && src_port == 80)",
        "{'dst_ip': '2001:db8::1'} ; (dst_ip6 == 2001:db8::1) || (src_ip6 == 2001:db8::1)",
        "{'url': '/search'} ; flow == 0x1be02fd64a5f7c11 || flow == 0x00000000000000ff",
        "{'src_ip': null} ; flow == 0x1be02fd64a5f7c11 || flow == 0x00000000000000ff",
      })
  void aGroupIsACondition(String key, String condition) throws Exception {
    String exemplars =
        "'exemplars': [{'flow_id': '1be02fd64a5f7c11-8d3f00a2'}, {'flow_id': '00000000000000ff-8d3f00a2'}]";
    AlertHeaders headers = headers("'key': %s, %s".formatted(key, exemplars), "{}");
    assertThat(headers.condition()).isEqualTo(condition);
    assertThat(headers.fromNs()).isEqualTo(1000);
    assertThat(headers.toNs()).isEqualTo(2000);
  }

  @Test
  void aGroupOfANetworkSelectsItsAddresses() throws Exception {
    assertThat(headers("'key': {'src_ip': '10.1.2.0'}", NETWORKS).condition())
        .isEqualTo("(src_ip in 10.1.2.0/24) || (dst_ip in 10.1.2.0/24)");
    assertThat(headers("'key': {'src_ip': '2001:db8::'}", NETWORKS).condition())
        .isEqualTo("(src_ip6 in 2001:db8::/64) || (dst_ip6 in 2001:db8::/64)");
  }

  @Test
  void aGroupOfFieldsThatHeadersLackRequiresExemplars() {
    assertThatThrownBy(() -> headers("'key': {'url': '/a'}", "{}"))
        .isInstanceOf(DrillException.class)
        .hasMessageContaining("headers do not have the group {\"url\":\"/a\"}");
  }

  @Test
  void anotherConditionNarrowsTheGroup() throws Exception {
    AlertHeaders headers = headers("'key': {'dst_port': 80}", "{}");
    assertThat(headers.and("bytes > 5 || ttl == 1"))
        .isEqualTo("((dst_port == 80) || (src_port == 80)) && (bytes > 5 || ttl == 1)");
    assertThat(headers.and("")).isEqualTo(headers.condition());
    assertThat(headers("'key': {}", "{}").and("bytes > 5")).isEqualTo("bytes > 5");
  }
}
