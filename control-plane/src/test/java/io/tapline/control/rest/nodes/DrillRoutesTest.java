package io.tapline.control.rest.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.drill.DrillException;
import io.tapline.control.rest.http.Problem;
import org.junit.jupiter.api.Test;

class DrillRoutesTest {
  @Test
  void aWatchBeyondTheMaximumNumberOfQueriesHasTheProblemOfQueries() {
    Problem problem =
        DrillRoutes.problem(DrillException.tooManyQueries("web has 6 running queries: stop one"));
    assertThat(problem.status()).isEqualTo(429);
    assertThat(problem.name()).isEqualTo("too-many-queries");
    assertThat(problem.detail()).isEqualTo("web has 6 running queries: stop one");
    assertThat(problem.headers()).containsKey("Retry-After");
  }
}
