package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.query.PacketPool.Grant;
import io.tapline.control.query.PacketPool.Report;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PacketPoolTest {
  private static final long FIRST = 1_000; // the version that parts are asked with

  private static PacketPool pool(long limit, int parts) {
    return new PacketPool(limit, PacketPool.shares(limit, parts), FIRST);
  }

  @Test
  void nobodyBeginsWithMoreThanHalfItsEvenShare() {
    assertThat(PacketPool.shares(1000, 1)).containsExactly(500L);
    assertThat(PacketPool.shares(1000, 4)).containsExactly(125L, 125L, 125L, 125L);
    assertThat(PacketPool.shares(2, 4)).containsExactly(1L, 1L, 0L, 0L);
    assertThat(PacketPool.shares(0, 2)).containsExactly(0L, 0L);
  }

  @Test
  void aPartThatWantsMoreGetsHalfItsEvenShareOfWhatIsFree() {
    PacketPool pool = pool(4000, 2);
    assertThat(pool.heard(0, new Report(FIRST, 1000, 600, true, false)))
        .containsExactly(new Grant(0, 1500, FIRST + 1));
    assertThat(pool.heard(1, new Report(FIRST, 1000, 10, false, false))).isEmpty();
  }

  @Test
  void wordsBehindAGrantAreAnsweredWithItAgain() {
    PacketPool pool = pool(4000, 2);
    Report word = new Report(FIRST, 1000, 600, true, false);
    List<Grant> granted = pool.heard(0, word);
    assertThat(pool.heard(0, word)).isEqualTo(granted);
    assertThat(pool.heard(0, new Report(FIRST, 1000, 700, false, false))).isEmpty();
    assertThat(pool.granted(0)).isEqualTo(1500);
  }

  @Test
  void idlePartsGiveBackWhatABusyOneNeeds() {
    PacketPool pool = pool(40, 2);
    assertThat(pool.heard(0, new Report(FIRST, 10, 10, true, true)))
        .containsExactly(new Grant(0, 30, FIRST + 1));
    assertThat(pool.heard(0, new Report(FIRST + 1, 30, 30, true, true)))
        .containsExactly(new Grant(1, 0, FIRST + 1));
    assertThat(pool.heard(1, new Report(FIRST + 1, 4, 4, true, false)))
        .containsExactly(new Grant(0, 36, FIRST + 2));
    assertThat(pool.used()).isFalse();
    assertThat(pool.heard(0, new Report(FIRST + 2, 36, 36, true, false))).isEmpty();
    assertThat(pool.used()).isTrue();
  }

  @Test
  void wantingAloneTakesNothingFromOthers() {
    PacketPool pool = pool(2, 3);
    assertThat(pool.heard(2, new Report(FIRST, 0, 0, true, false))).isEmpty();
    assertThat(pool.heard(2, new Report(FIRST, 0, 0, true, true))).hasSize(2);
  }

  @Test
  void whatADeadPartHeldIsTakenAndTheRestGoesOn() {
    PacketPool pool = pool(1000, 2);
    assertThat(pool.lost(0)).isEmpty();
    assertThat(pool.granted(0)).isEqualTo(250);
    assertThat(pool.heard(0, new Report(FIRST, 250, 250, true, false)))
        .as("it begins elsewhere")
        .containsExactly(new Grant(0, 375, FIRST + 1));
    pool.lost(0);
    pool.lost(1);
    assertThat(pool.used()).isFalse();
  }

  /** A monitor and the way to it: what is said arrives late, or is lost with the monitor. */
  private static final class Part {
    long granted;
    long taken;
    long spent;
    long version;
    long lent;
    long refused;
    long[] told = {-1, -1};
    final List<Grant> toMonitor = new ArrayList<>();
    final List<Report> toPool = new ArrayList<>();

    Part(long granted) {
      this.granted = granted;
      lent = granted;
    }

    void packet() {
      if (taken < granted) {
        taken++;
      } else {
        refused++;
      }
    }

    void hear() {
      while (!toMonitor.isEmpty()) {
        Grant grant = toMonitor.remove(0);
        granted = Math.max(taken, grant.packets());
        version = grant.version();
        lent = granted - taken;
        say();
      }
    }

    void look() {
      if ((told[0] != taken || told[1] != refused) && granted - taken <= lent / 2) {
        say();
      }
    }

    private void say() {
      boolean wants = granted - taken <= lent / 2;
      boolean missed = granted == taken && refused != Math.max(0, told[1]);
      toPool.add(new Report(version, granted, taken, wants, missed));
      told = new long[] {taken, refused};
    }

    /** Another goes on with what the pool says was granted. */
    long dies(long held) {
      long really = taken - spent;
      toMonitor.clear();
      toPool.clear();
      granted = taken = spent = held;
      version = 0;
      lent = 0;
      told = new long[] {-1, -1};
      return really;
    }
  }

  /** Returns how many were taken, by monitors that are gone, too. */
  private static long run(Random random, long limit, int count, boolean deaths) {
    PacketPool pool = pool(limit, count);
    List<Part> parts = new ArrayList<>();
    PacketPool.shares(limit, count).forEach(share -> parts.add(new Part(share)));
    for (int i = 0; i < count; i++) {
      parts.get(i).toMonitor.add(pool.again(i));
    }
    long gone = 0;
    int busy = 1 + random.nextInt(count);
    for (int turn = 0; !pool.used(); turn++) {
      assertThat(turn).as("it ends").isLessThan(1_000_000);
      int at = random.nextInt(count);
      Part part = parts.get(at);
      switch (random.nextInt(4)) {
        case 0 -> parts.get(at % busy).packet();
        case 1 -> part.hear();
        case 2 -> part.look();
        default -> {
          while (!part.toPool.isEmpty()) {
            Report report = part.toPool.remove(0);
            pool.heard(at, report).forEach(each -> parts.get(each.part()).toMonitor.add(each));
          }
        }
      }
      if (deaths && random.nextInt(500) == 0) {
        gone += part.dies(pool.granted(at));
        pool.lost(at).forEach(each -> parts.get(each.part()).toMonitor.add(each));
        part.toMonitor.add(pool.again(at));
      }
    }
    return gone + parts.stream().mapToLong(part -> part.taken - part.spent).sum();
  }

  @Test
  void allAreTakenAndNeverMoreHoweverLateWordsCome() {
    Random random = new Random(7);
    for (int round = 0; round < 300; round++) {
      long limit = 1 + random.nextInt(round % 2 == 0 ? 5 : 3000);
      assertThat(run(random, limit, 1 + random.nextInt(6), false)).isEqualTo(limit);
    }
  }

  @Test
  void neverMoreWhoeverDies() {
    Random random = new Random(11);
    for (int round = 0; round < 300; round++) {
      long limit = 1 + random.nextInt(3000);
      assertThat(run(random, limit, 1 + random.nextInt(6), true)).isLessThanOrEqualTo(limit);
    }
  }
}
