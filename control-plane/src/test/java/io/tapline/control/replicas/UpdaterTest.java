package io.tapline.control.replicas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.replicas.Updater.WantedState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class UpdaterTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final Thresholds THRESHOLDS = new Thresholds(10, 4, 3 * SECOND_NS);

  private final Updater updater = new Updater(THRESHOLDS, 3);
  private WantedState now = WantedState.SINGLE;

  private int after(long seconds, Map<String, Double> perSecond) {
    now = updater.next(seconds * SECOND_NS, perSecond, now);
    return now.servers();
  }

  @Test
  void changesOneServerAtATimeWithABackOff() {
    Map<String, Double> calm = Map.of("/a", 0.2, "/b", 0.1);
    Map<String, Double> rush = Map.of("/a", 25.0, "/b", 0.1);
    assertThat(after(1, calm)).isEqualTo(1);
    assertThat(after(2, rush)).isEqualTo(2);
    assertThat(now.hot()).containsExactly("/a");
    assertThat(after(4, rush)).as("within the back-off").isEqualTo(2);
    assertThat(after(5, rush)).isEqualTo(3);
    assertThat(after(60, rush)).as("there is no fourth server").isEqualTo(3);
    assertThat(after(61, calm)).isEqualTo(2);
    assertThat(after(63, calm)).isEqualTo(2);
    assertThat(after(64, calm)).isEqualTo(1);
    assertThat(now.hot()).isEmpty();
    assertThat(after(99, calm)).isEqualTo(1);
  }

  @Test
  void loadsEqualToAThresholdChangeNothing() {
    assertThat(after(1, Map.of("/a", 10.0))).isEqualTo(1);
    assertThat(after(2, Map.of("/a", 10.1))).isEqualTo(2);
    assertThat(after(9, Map.of("/a", 8.0))).as("4 on each").isEqualTo(2);
    assertThat(after(10, Map.of("/a", 7.9))).isEqualTo(1);
  }

  @Test
  void aPageIsHotFromTheUpperThresholdDownToTheLowerOne() {
    after(1, Map.of("/a", 30.0, "/b", 9.0));
    assertThat(now.hot()).containsExactly("/a");
    after(9, Map.of("/a", 30.0, "/b", 11.0));
    assertThat(now.hot()).containsExactly("/a", "/b");
    after(13, Map.of("/a", 30.0, "/b", 4.0));
    assertThat(now.hot()).containsExactly("/a", "/b");
    after(14, Map.of("/a", 30.0, "/b", 3.9));
    assertThat(now.hot()).containsExactly("/a");
    after(15, Map.of("/b", 30.0));
    assertThat(now.hot()).as("a page that left the ranking").containsExactly("/b");
  }

  /**
   * Tests the guarantee of {@link Thresholds}: under a constant load, the number of replicas
   * changes in one direction only.
   */
  @Test
  void aConstantLoadNeverOscillates() {
    Random random = new Random(7);
    for (int round = 0; round < 20_000; round++) {
      double lower = 0.5 + 10 * random.nextDouble();
      double upper = 2 * lower * (1 + (random.nextBoolean() ? 0 : random.nextDouble()));
      int maxServers = 2 + random.nextInt(9);
      Updater updater = new Updater(new Thresholds(upper, lower, 0), maxServers);
      WantedState state = new WantedState(1 + random.nextInt(maxServers), Set.of());
      Map<String, Double> load = new HashMap<>();
      for (int page = 0; page < 3; page++) {
        load.put("/" + page, 3 * upper * maxServers * random.nextDouble() * random.nextDouble());
      }
      List<Integer> moves = new ArrayList<>();
      for (int window = 0; window < 2 * maxServers + 2; window++) {
        WantedState next = updater.next(window, load, state);
        if (next.servers() != state.servers()) {
          moves.add(Integer.signum(next.servers() - state.servers()));
        }
        state = next;
      }
      assertThat(Set.copyOf(moves))
          .as("%s, %s, %s of %d", upper, lower, load, maxServers)
          .hasSizeLessThan(2);
      assertThat(moves).hasSizeLessThan(maxServers);
    }
  }

  @Test
  void thresholdsThatCouldOscillateAreRefused() {
    assertThatThrownBy(() -> new Thresholds(7, 4, 0)).hasMessageContaining("twice");
    assertThatThrownBy(() -> new Thresholds(8, 0, 0)).hasMessageContaining("above 0");
    assertThatThrownBy(() -> new Thresholds(8, Double.NaN, 0)).hasMessageContaining("above 0");
    assertThatThrownBy(() -> new Thresholds(8, 4, -1)).hasMessageContaining("back_off");
  }
}
