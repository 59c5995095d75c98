package io.tapline.network.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.RuleMatch.Header;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests rules that name ports of the switch, together with rules that do not. */
class PortRulesTest {
  private static final int CAPACITY = 4096;
  private static final String[] PORTS = {"1", "2", "spine"};

  private static Wanted wanted(Random random, int owner) {
    RuleMatch match =
        new RuleMatch(
            random.nextBoolean() ? IpPrefix.ANY : IpPrefix.of("10.0.0.0/30"),
            random.nextBoolean() ? IpPrefix.ANY : IpPrefix.of("10.0.0." + random.nextInt(6)),
            0,
            PortMask.ANY,
            PortMask.ANY,
            0,
            0);
    int kind = random.nextInt(3);
    String port = PORTS[random.nextInt(PORTS.length)];
    return switch (kind) {
      case 0 -> new Wanted("q" + owner, "m" + random.nextInt(2), match);
      case 1 -> new Wanted("q" + owner, "arrivals " + port, RuleMatch.leaving(port));
      default -> new Wanted("q" + owner, "departures " + port, RuleMatch.entering(port));
    };
  }

  private static Header header(Random random) {
    return new Header(
        IpPrefix.of("10.0.0." + random.nextInt(6)),
        IpPrefix.of("10.0.0." + random.nextInt(6)),
        17,
        1,
        2,
        0,
        0,
        PORTS[random.nextInt(PORTS.length)],
        PORTS[random.nextInt(PORTS.length)]);
  }

  private static Set<String> expected(List<Wanted> all, Header h) {
    Set<String> monitors = new TreeSet<>();
    for (Wanted want : all) {
      RuleMatch match = want.match();
      boolean fits =
          match.from().overlaps(h.from())
              && match.to().overlaps(h.to())
              && (match.in().isEmpty() || match.in().equals(h.in()))
              && (match.out().isEmpty() || match.out().equals(h.out()));
      if (fits) {
        monitors.add(want.monitor());
      }
    }
    return monitors;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void eachPacketIsCopiedToTheMonitorsThatWantIt(int part) {
    int copies = 0;
    for (int seed = 100 * part; seed < 100 * part + 100; seed++) {
      Random random = new Random(seed);
      List<Wanted> all = new ArrayList<>();
      RuleTable previousTable = RuleTable.empty();
      for (int i = 0; i < 5; i++) {
        List<Wanted> was = List.copyOf(all);
        all.add(wanted(random, i));
        RuleTable newTable = RuleTable.of(all, CAPACITY);
        List<Header> headers = new ArrayList<>();
        for (int h = 0; h < 20; h++) {
          headers.add(header(random));
        }
        for (Transition.Step step : Transition.steps(previousTable, newTable, CAPACITY)) {
          previousTable = Transition.apply(previousTable, step);
          for (Header h : headers) {
            assertThat(previousTable.monitors(h)).isIn(expected(was, h), expected(all, h));
          }
        }
        for (Header h : headers) {
          assertThat(newTable.monitors(h)).as("%s in %s", h, all).isEqualTo(expected(all, h));
          copies += newTable.monitors(h).size();
        }
      }
    }
    assertThat(copies).isGreaterThan(5000);
  }

  @Test
  void aMatchNamesItsPorts() {
    RuleMatch bothMatch = RuleMatch.entering("leaf1").and(RuleMatch.leaving("3"));
    assertThat(bothMatch).hasToString("ip,in_port=leaf1,out_port=3");
    assertThat(bothMatch.hasPort()).isTrue();
    assertThat(bothMatch.bits()).isGreaterThan(RuleMatch.leaving("3").bits());
    assertThat(RuleMatch.leaving("3").overlaps(RuleMatch.leaving("4"))).isFalse();
    assertThat(RuleMatch.leaving("3").joined(RuleMatch.leaving("4"))).isNull();
  }

  @Test
  void marksDistinguishTheSidesOfAQueue() {
    assertThat(CopyMark.arrivals(1)).isEqualTo(0x027a91000002L);
    assertThat(CopyMark.departures(1)).isEqualTo(0x027a91000003L);
    assertThat(CopyMark.departures(CopyMark.MAX_MARK)).isEqualTo(0x027a91ffffffL);
    assertThat(CopyMark.isMark(CopyMark.departures(CopyMark.MAX_MARK))).isTrue();
    assertThat(CopyMark.isMark(0x020000000001L)).isFalse();
  }
}
