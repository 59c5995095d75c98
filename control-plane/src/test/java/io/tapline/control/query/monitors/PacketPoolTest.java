package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.query.monitors.PacketPool.Grant;
import io.tapline.control.query.monitors.PacketPool.Report;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PacketPoolTest {
  private static final long FIRST = 1_000; // the version of the first grants

  private static PacketPool pool(long limit, int parts) {
    return new PacketPool(limit, PacketPool.shares(limit, parts), FIRST);
  }

  @Test
  void noPartStartsWithMoreThanHalfOfItsEvenShare() {
    assertThat(PacketPool.shares(1000, 1)).containsExactly(500L);
    assertThat(PacketPool.shares(1000, 4)).containsExactly(125L, 125L, 125L, 125L);
    assertThat(PacketPool.shares(2, 4)).containsExactly(1L, 1L, 0L, 0L);
    assertThat(PacketPool.shares(0, 2)).containsExactly(0L, 0L);
  }

  @Test
  void theGrantOfALostPartCountsAsUsed() {
    PacketPool pool = new PacketPool(10, List.of(10L, 0L), FIRST);
    assertThat(pool.used()).isFalse();
    assertThat(pool.lost(0)).isEmpty();
    assertThat(pool.used()).isTrue();
  }

  @Test
  void aPartThatNeedsMoreGetsHalfItsShareOfTheRemainder() {
    PacketPool pool = pool(4000, 2);
    assertThat(pool.onReport(0, new Report(FIRST, 1000, 600, true, false)))
        .containsExactly(new Grant(0, 1500, FIRST + 1));
    assertThat(pool.onReport(1, new Report(FIRST, 1000, 10, false, false))).isEmpty();
  }

  @Test
  void repeatsTheGrantForOlderReports() {
    PacketPool pool = pool(4000, 2);
    Report word = new Report(FIRST, 1000, 600, true, false);
    List<Grant> grantedGrants = pool.onReport(0, word);
    assertThat(pool.onReport(0, word)).isEqualTo(grantedGrants);
    assertThat(pool.onReport(0, new Report(FIRST, 1000, 700, false, false))).isEmpty();
    assertThat(pool.granted(0)).isEqualTo(1500);
  }

  @Test
  void idlePartsReturnPacketsForABusyOne() {
    PacketPool pool = pool(40, 2);
    assertThat(pool.onReport(0, new Report(FIRST, 10, 10, true, true)))
        .containsExactly(new Grant(0, 30, FIRST + 1));
    assertThat(pool.onReport(0, new Report(FIRST + 1, 30, 30, true, true)))
        .containsExactly(new Grant(1, 0, FIRST + 1));
    assertThat(pool.onReport(1, new Report(FIRST + 1, 4, 4, true, false)))
        .containsExactly(new Grant(0, 36, FIRST + 2));
    assertThat(pool.used()).isFalse();
    assertThat(pool.onReport(0, new Report(FIRST + 2, 36, 36, true, false))).isEmpty();
    assertThat(pool.used()).isTrue();
  }

  @Test
  void aSingleRequestLeavesOtherGrantsUnchanged() {
    PacketPool pool = pool(2, 3);
    assertThat(pool.onReport(2, new Report(FIRST, 0, 0, true, false))).isEmpty();
    assertThat(pool.onReport(2, new Report(FIRST, 0, 0, true, true))).hasSize(2);
  }

  @Test
  void theGrantOfADeadPartCountsAsUsedAndTheOthersContinue() {
    PacketPool pool = pool(1000, 2);
    assertThat(pool.lost(0)).isEmpty();
    assertThat(pool.granted(0)).isEqualTo(250);
    assertThat(pool.onReport(0, new Report(FIRST, 250, 250, true, false)))
        .as("it begins on another host")
        .containsExactly(new Grant(0, 375, FIRST + 1));
    pool.lost(0);
    pool.lost(1);
    assertThat(pool.used()).isFalse();
  }

  /** A simulated monitor and its channel: messages arrive late, or are lost with the monitor. */
  private static final class Part {
    long granted;
    long taken;
    long spent;
    long version;
    long lastGrant;
    long refused;
    long[] reported = {-1, -1};
    final List<Grant> toMonitor = new ArrayList<>();
    final List<Report> toPool = new ArrayList<>();

    Part(long granted) {
      this.granted = granted;
      lastGrant = granted;
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
        lastGrant = granted - taken;
        say();
      }
    }

    void look() {
      if ((reported[0] != taken || reported[1] != refused) && granted - taken <= lastGrant / 2) {
        say();
      }
    }

    private void say() {
      boolean wants = granted - taken <= lastGrant / 2;
      boolean isShort = granted == taken && refused != Math.max(0, reported[1]);
      toPool.add(new Report(version, granted, taken, wants, isShort));
      reported = new long[] {taken, refused};
    }

    /**
     * Simulates a monitor's death: its successor counts the whole recorded grant as taken. Returns
     * the number of packets that the dead monitor had actually taken.
     */
    long dies(long held) {
      long really = taken - spent;
      toMonitor.clear();
      toPool.clear();
      granted = taken = spent = held;
      version = 0;
      lastGrant = 0;
      reported = new long[] {-1, -1};
      return really;
    }
  }

  /** Mean number of iterations between deaths, and of reports between new leaders; 0 for none. */
  private record Faults(int death, int lead) {}

  /** A pool, its parts, and the record of grants, which is updated before grants are sent. */
  private static final class Run {
    private final Random random;
    private final long limit;
    private final List<Part> parts = new ArrayList<>();
    private PacketPool pool;
    private List<Long> noted;
    private long version = FIRST;

    Run(Random random, long limit, int count) {
      this.random = random;
      this.limit = limit;
      noted = PacketPool.shares(limit, count);
      noted.forEach(share -> parts.add(new Part(share)));
      lead();
    }

    /** Simulates a new leader, which reads the record and sends all parts their grants again. */
    private void lead() {
      version += 1_000_000;
      pool = new PacketPool(limit, noted, version);
      for (int i = 0; i < parts.size(); i++) {
        parts.get(i).toMonitor.clear();
        parts.get(i).toMonitor.add(pool.currentGrant(i));
      }
    }

    /**
     * Records grants, then sends them. If {@code isGone}, the leader fails in between, and a new
     * leader sends the recorded grants.
     */
    private void say(List<Grant> grants, boolean isGone) {
      if (!grants.isEmpty()) {
        noted = IntStream.range(0, parts.size()).mapToObj(pool::granted).toList();
        assertThat(noted.stream().mapToLong(Long::longValue).sum()).isLessThanOrEqualTo(limit);
      }
      if (isGone) {
        lead();
      } else {
        grants.forEach(grant -> parts.get(grant.part()).toMonitor.add(grant));
      }
    }

    private boolean one(int bound) {
      return bound > 0 && random.nextInt(bound) == 0;
    }

    /** Returns the total number of packets taken, including those taken by monitors that died. */
    long untilUsed(Faults faults) {
      long gone = 0;
      int busy = 1 + random.nextInt(parts.size());
      for (int turn = 0; !pool.used(); turn++) {
        assertThat(turn).as("it ends").isLessThan(1_000_000);
        int index = random.nextInt(parts.size());
        Part part = parts.get(index);
        switch (random.nextInt(4)) {
          case 0 -> parts.get(index % busy).packet();
          case 1 -> part.hear();
          case 2 -> part.look();
          default -> {
            while (!part.toPool.isEmpty()) {
              say(pool.onReport(index, part.toPool.remove(0)), one(faults.lead()));
            }
          }
        }
        if (one(faults.death())) {
          gone += part.dies(pool.granted(index));
          say(pool.lost(index), false);
          part.toMonitor.add(pool.currentGrant(index));
        }
      }
      return gone + parts.stream().mapToLong(part -> part.taken - part.spent).sum();
    }
  }

  private static long limit(Random random, int round) {
    return 1 + random.nextInt(round % 2 == 0 ? 5 : 3000);
  }

  @Test
  void allPacketsAreGrantedOnceDespiteDelaysAndLeaderChanges() {
    Random random = new Random(7);
    for (int round = 0; round < 600; round++) {
      long limit = limit(random, round);
      Faults faults = new Faults(0, round % 3 == 0 ? 0 : 20);
      Run run = new Run(random, limit, 1 + random.nextInt(6));
      assertThat(run.untilUsed(faults)).isEqualTo(limit);
    }
  }

  @Test
  void theLimitIsNeverExceededAfterAFailure() {
    Random random = new Random(11);
    for (int round = 0; round < 300; round++) {
      long limit = limit(random, 1);
      Run run = new Run(random, limit, 1 + random.nextInt(6));
      assertThat(run.untilUsed(new Faults(500, 50))).isLessThanOrEqualTo(limit);
    }
  }
}
