package io.tapline.control.cli.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.tapline.control.ProgressListener.Phase;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimingsTest {
  private final Timings timings = new Timings(System.nanoTime());

  private List<String> names() {
    return timings.ended().stream().map(Timings.Entry::name).toList();
  }

  @Test
  void phasesMayOverlapAndAreListedInOrderOfStart() {
    Phase outer = timings.begin("outer");
    Phase inner = timings.begin("inner");
    assertThat(names()).isEmpty();
    outer.close();
    inner.close();
    assertThat(names()).containsExactly("outer", "inner");
    Timings.Entry first = timings.ended().get(0);
    Timings.Entry second = timings.ended().get(1);
    assertThat(second.from()).isBetween(first.from(), first.to());
    assertThat(second.to()).isGreaterThanOrEqualTo(first.to());
  }

  @Test
  void aPhaseEndsOnce() {
    Phase phase = timings.begin("once");
    phase.close();
    double end = timings.ended().get(0).to();
    phase.close();
    assertThat(timings.ended()).singleElement().extracting(Timings.Entry::to).isEqualTo(end);
  }

  @Test
  void phasesOfTheSameNameAreSeparate() {
    Phase first = timings.begin("start");
    Phase second = timings.begin("start");
    second.close();
    first.close();
    assertThat(names()).containsExactly("start", "start");
  }

  @Test
  void processorTimeBelongsToItsPhase() {
    Phase phase = timings.begin("compute");
    long end = System.nanoTime() + 200_000_000L;
    long steps = 0;
    while (System.nanoTime() < end) {
      steps++;
    }
    phase.close();
    Timings.Entry entry = timings.ended().get(0);
    assertThat(steps).isPositive();
    assertThat(entry.to() - entry.from()).isGreaterThanOrEqualTo(0.2);
    assertThat(entry.cpu()).isGreaterThan(0);
  }

  @Test
  void theTableEndsWithTheWholeProcess() {
    Timings wholeTimings = Timings.ofProcess("Java");
    wholeTimings.begin("work").close();
    List<String> lines = wholeTimings.table().lines().toList();
    assertThat(lines.get(0).split(" +")).containsExactly("phase", "from", "to", "s", "CPU", "s");
    assertThat(lines.get(1)).startsWith("Java ").contains(" 0.00 ");
    assertThat(lines.get(2)).startsWith("work ");
    assertThat(lines.get(3)).startsWith("all ");
    double started = wholeTimings.ended().get(0).to();
    double uptime = java.lang.management.ManagementFactory.getRuntimeMXBean().getUptime() / 1e3;
    assertThat(started)
        .as("the process began before its virtual machine")
        .isCloseTo(uptime, within(2.0));
  }
}
