package io.tapline.compiler.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NamesTest {
  private static final List<String> NAMES = List.of("http_get", "tcp_conn_time", "top-k", "k");

  @ParameterizedTest
  @CsvSource({
    "htp_get, http_get",
    "http-gte, http_get",
    "HTTPGET, http_get",
    "http, http_get",
    "topk, top-k",
    "tcp_con_tiem, tcp_conn_time",
    "zzz, ''",
    "z, ''",
    "'', ''"
  })
  void findsTheNearestName(String word, String expected) {
    assertThat(Names.nearest(word, NAMES)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"ab, ab, 0", "ab, ba, 1", "abc, ca, 3", "'', abc, 3", "kitten, sitting, 3"})
  void computesTheDistanceOfNames(String a, String b, int expected) {
    assertThat(Names.distance(a, b)).isEqualTo(expected);
    assertThat(Names.distance(b, a)).isEqualTo(expected);
  }

  @Test
  void longListsAreCutShort() {
    List<String> manyNames = IntStream.range(0, 20).mapToObj(i -> "n" + i).toList();
    assertThat(Names.list(manyNames))
        .isEqualTo("n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11 and 8 more");
    assertThat(Names.either(List.of("a", "b", "c"))).isEqualTo("a, b or c");
  }
}
