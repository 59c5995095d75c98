package io.tapline.control.query.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.rpc.EventBatch;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class EventNumbersTest {
  private static EventBatch batch(
      String monitor, long incarnation, long first, int events, boolean isLast) {
    return EventBatch.newBuilder()
        .setQuery("q-1")
        .setMonitor(monitor)
        .setIncarnation(incarnation)
        .setFirst(first)
        .setCount(events)
        .setLast(isLast)
        .build();
  }

  /**
   * Simulates monitors that number their events, lose some batches and die, and agents that resend
   * events. Each event that arrives must be logged once, and the totals must include the missing
   * ones.
   */
  @Test
  void receivedAndMissingAddUpToSent() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      EventNumbers numbers = new EventNumbers();
      Map<String, List<EventBatch>> sent = new HashMap<>();
      Set<String> logged = new HashSet<>();
      long total = 0;
      long received = 0;
      long entries = 0;
      long broken = 0;
      EventNumbers.CutBatch latest = new EventNumbers.CutBatch(0, 0, 0, 0, 0);
      for (int m = 0; m < 3; m++) {
        String monitor = "m" + m;
        List<EventBatch> all = new ArrayList<>();
        int lives = 1 + random.nextInt(3);
        for (int life = 1; life <= lives; life++) {
          long next = 0;
          int batches = 1 + random.nextInt(20);
          boolean ends = life == lives || random.nextBoolean();
          for (int b = 0; b < batches; b++) {
            int events = random.nextInt(4);
            boolean isLast = ends && b == batches - 1;
            if (isLast || random.nextInt(5) > 0) {
              all.add(batch(monitor, life, next, events, isLast));
            }
            next += events;
          }
          EventBatch end = all.isEmpty() ? null : all.get(all.size() - 1);
          boolean isSeen = end != null && end.getIncarnation() == life;
          total += isSeen ? end.getFirst() + end.getCount() : 0;
          broken += isSeen && !end.getLast() && life < lives ? 1 : 0;
        }
        sent.put(monitor, all);
      }
      List<String> turns = new ArrayList<>();
      sent.forEach((monitor, all) -> all.forEach(event -> turns.add(monitor)));
      Collections.shuffle(turns, random);
      Map<String, Integer> positions = new HashMap<>();
      for (String monitor : turns) {
        int index = positions.merge(monitor, 1, Integer::sum) - 1;
        // First resends some earlier batches, as an agent does after a takeover.
        for (int i = Math.max(0, index - random.nextInt(4)); i <= index; i++) {
          EventBatch batch = sent.get(monitor).get(i);
          Optional<EventNumbers.CutBatch> cut = numbers.take(batch);
          if (cut.isEmpty()) {
            continue;
          }
          latest = cut.get();
          assertThat(latest.entry()).isEqualTo(++entries);
          for (int e = latest.skip(); e < batch.getCount(); e++) {
            String event = monitor + " " + batch.getIncarnation() + " " + (batch.getFirst() + e);
            assertThat(logged.add(event)).as(event).isTrue();
            received++;
          }
          assertThat(latest.received()).isEqualTo(received);
        }
      }
      assertThat(latest.received() + latest.missing()).as("seed " + seed).isEqualTo(total);
      assertThat(latest.interrupted()).as("seed " + seed).isEqualTo(broken);
    }
  }
}
