package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Plan;
import io.tapline.sdn.mirror.CopyFormat;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CopyExplainTest {
  private static final Plan PLAN =
      Plan.newBuilder()
          .addArguments(ParserArgument.newBuilder().setName("vantage").setValue("edge"))
          .build();

  private static String text(boolean isMarked, Map<String, Integer> queues) {
    return CopyExplain.text(PLAN, Optional.of(new CopyFormat(isMarked, queues)));
  }

  @Test
  void portsComeFromMarksOrFromRoutes() {
    assertThat(text(true, Map.of()))
        .isEqualTo(
            """

            copies
              ports: from marks that switches write into the copies
              SYN, FIN, RST: in the same queue as all other copies; the inventory's monitor_ports name no second queue
            """);
    assertThat(text(false, Map.of("collector", 20)))
        .isEqualTo(
            """

            copies
              ports: inferred from the controller's routes (copies: unmarked)
              SYN, FIN, RST: in the same queue as all other copies, since only marked copies can use a second one
            """);
  }

  @Test
  void secondQueuesAreCountedByHost() {
    assertThat(text(true, Map.of("collector", 20, "a", 1)))
        .endsWith(
            "SYN, FIN, RST: before other copies to a, at 1 switch; before other copies to collector,"
                + " at 20 switches\n");
  }

  @Test
  void otherQueriesAndOtherControllersHaveNone() {
    assertThat(CopyExplain.text(PLAN, Optional.empty())).isEmpty();
    Optional<CopyFormat> marked = Optional.of(new CopyFormat(true, Map.of()));
    assertThat(CopyExplain.text(Plan.getDefaultInstance(), marked)).isEmpty();
  }
}
