package io.tapline.control.rest.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.access.Scope;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ScopedFilterTest {
  private static final ScopedFilter FILTER =
      new ScopedFilter(
          new Scope(
              List.of(
                  Scope.prefix("10.0.2.0/24").orElseThrow(),
                  Scope.prefix("2001:db8::/32").orElseThrow())),
          Set.of("src_ip", "dst_ip", "src_ip6", "dst_port", "bytes", "seq", "protocol", "time"));
  private static final String WITHIN =
      "src_ip in 10.0.2.0/24 || dst_ip in 10.0.2.0/24 || src_ip6 in 2001:db8::/32 || dst_ip6 in 2001:db8::/32";

  @Test
  void whatIsAskedIsWithinTheScope() {
    assertThat(FILTER.of("")).isEqualTo(WITHIN);
    assertThat(FILTER.of("bytes > 1KB || seq < SEQ"))
        .isEqualTo("(bytes > 1KB || seq < SEQ) && (" + WITHIN + ")");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "!(src_ip in 10.0.2.0/24)",
        "src_ip not in 10.0.0.0/8 && dst_port in {80, 443}",
        "src_ip like 10.0.*.1 && protocol == TCP",
        "src_ip6 in fe80::/10 || src_ip6 == abcd::1",
        "((bytes > 100B) && (time < 5s))",
      })
  void usualFiltersPass(String filter) {
    assertThat(FILTER.of(filter)).startsWith("(" + filter + ") && (");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bytes > 0) || (bytes > 0",
        ") || (",
        "(bytes > 0",
        "bytes > 0)",
        "bytes > 0) || \"(\" == (\"",
        "protocol == \"",
        "bytes < watch_1",
        "seq < watch_3_seq.SEQ",
        "bytes > abc.def",
        "unknown == 1",
        // A node resolves these to the first aggregate with such an output, even another tenant's.
        "bytes < SUM",
        "seq > COUNT + 1",
        "bytes > MAX",
      })
  void tricksAreRefused(String filter) {
    assertThatThrownBy(() -> FILTER.of(filter)).isInstanceOf(ProblemException.class);
  }

  @Test
  void conditionsNameTheOutputsOfTheirOwnAggregate() {
    FILTER.requireCondition("COUNT > 100 && SUM > 10MB");
    assertThatThrownBy(() -> FILTER.requireCondition("watch_1.SUM > 10"))
        .isInstanceOf(ProblemException.class);
  }
}
