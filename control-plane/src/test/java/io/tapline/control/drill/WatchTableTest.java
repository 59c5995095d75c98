package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.drill.DrillException.Kind;
import java.util.Collections;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class WatchTableTest {
  private final WatchTable table = new WatchTable();

  private void add(int count, int maxWatches) throws DrillException {
    WatchSpec spec =
        new WatchSpec(
            HeaderFilter.ALL,
            DrillAggregate.parse("COUNT", List.of()),
            "COUNT > 5",
            1_000_000_000,
            1_000_000_000,
            "info",
            List.of(),
            false,
            new WatchRun(false, "requested"));
    table.add(Collections.nCopies(count, spec), "web", "", maxWatches);
  }

  private static void expectTooMany(ThrowingCallable call, String message) {
    assertThatThrownBy(call)
        .hasMessage(message)
        .isInstanceOfSatisfying(
            DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.TOO_MANY_WATCHES));
  }

  @Test
  void theMaximumOfATenantIsEnforced() throws Exception {
    add(2, 2);
    expectTooMany(() -> add(1, 2), "web has 2 watches, and 2 is its maximum: remove one");
  }

  @Test
  void theMaximumOnNodesIsEnforced() throws Exception {
    add(100, 1000);
    expectTooMany(
        () -> add(1, 1000), "100 watches on nodes are the maximum, and there are 100: remove some");
  }
}
