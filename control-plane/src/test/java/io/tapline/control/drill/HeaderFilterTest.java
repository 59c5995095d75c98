package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.access.Scope;
import io.tapline.compiler.conditions.ConditionSyntaxException;
import io.tapline.schema.rpc.Definition;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests a restricted caller's filter for nodes that accept condition trees and for nodes that
 * don't.
 */
class HeaderFilterTest {
  private static final Scope SCOPE =
      new Scope(
          List.of(
              Scope.prefix("10.0.2.0/24").orElseThrow(),
              Scope.prefix("2001:db8::/32").orElseThrow()));
  private static final Set<String> FIELDS =
      Set.of("src_ip", "dst_ip", "src_ip6", "dst_port", "bytes", "seq", "protocol", "time");
  private static final String WITHIN =
      "src_ip in 10.0.2.0/24 || dst_ip in 10.0.2.0/24 || src_ip6 in 2001:db8::/32 || dst_ip6 in"
          + " 2001:db8::/32";

  private static HeaderFilter parse(String filter, Scope scope) throws ConditionSyntaxException {
    return HeaderFilter.parse(filter, FIELDS, scope, name -> false);
  }

  @Test
  void theScopeIsAddedForNodesThatTakeNoTrees() throws ConditionSyntaxException {
    assertThat(parse("", SCOPE).expression()).isEqualTo(WITHIN);
    assertThat(parse("bytes > 1KB or true", SCOPE).expression())
        .isEqualTo("(bytes > 1KB || true) && (" + WITHIN + ")");
    assertThat(parse("bytes > 1KB or true", Scope.EVERYTHING).expression())
        .isEqualTo("bytes > 1KB or true");
  }

  @Test
  void theScopeIsASeparateTreeForNodesThatTakeTrees() throws ConditionSyntaxException {
    HeaderFilter filter = parse("bytes > 1KB", SCOPE);
    assertThat(filter.condition().orElseThrow().getNodesCount()).isEqualTo(1);
    assertThat(SCOPE.ofHeaders().getNodesCount()).isEqualTo(5);
    assertThat(Scope.EVERYTHING.ofHeaders().getNodesCount()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "!(src_ip in 10.0.2.0/24)",
        "src_ip not in 10.0.0.0/8 && dst_port in {80, 443}",
        "src_ip like 10.0.*.1 and protocol == TCP or not has(bytes)",
        "src_ip6 in fe80::/10 || src_ip6 == abcd::1",
        "((bytes > 100B) && (time < 5s))",
        "src_ip = 10.0.0.0/8 AND dst_port = (80, 443)",
      })
  void validFiltersAreAccepted(String filter) throws ConditionSyntaxException {
    assertThat(parse(filter, SCOPE).expression()).endsWith(" && (" + WITHIN + ")");
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
        "watch_1 > bytes",
        "bytes + watch_1.SUM - watch_1.SUM > 0",
        "bytes < SUM",
        "seq < SEQ",
        "seq < watch_3_seq.SEQ",
        "bytes > abc.def",
        "unknown == 1",
        "has(watch_1)",
      })
  void filtersThatCouldEscapeTheScopeAreRefused(String filter) {
    assertThatThrownBy(() -> parse(filter, SCOPE)).isInstanceOf(ConditionSyntaxException.class);
  }

  @Test
  void aWatchComparesWithItsOwnProgressOnly() throws Exception {
    HeaderFilter filter =
        HeaderFilter.parse(
            "seq < SEQ and bytes > 0", FIELDS, SCOPE, WatchSpec.PROGRESS_NAMES::contains);
    WatchSpec spec =
        new WatchSpec(
            filter,
            DrillAggregate.parse("COUNT", List.of()),
            "",
            1_000_000_000,
            1_000_000,
            "warning",
            List.of(),
            false);
    Definition.Filter defined =
        spec.definitions("watch_7", 1).stream()
            .filter(Definition::hasFilter)
            .findFirst()
            .orElseThrow()
            .getFilter();
    assertThat(defined.getExpression())
        .isEqualTo("(seq < watch_7_seq.SEQ && bytes > 0) && (" + WITHIN + ")");
    assertThat(defined.getCondition().toString()).contains("watch_7_seq.SEQ");
    assertThat(defined.getAggregatesList()).containsExactly("watch_7_seq");
    assertThat(defined.getScope()).isEqualTo(SCOPE.ofHeaders());
    assertThat(spec.definitions("watch_7", 1).get(0).getAggregate().getName())
        .isEqualTo("watch_7_seq");
  }
}
