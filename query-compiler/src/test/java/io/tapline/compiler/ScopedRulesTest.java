package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.network.EdgeSwitch;
import io.tapline.network.IpPrefix;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.network.rules.MirrorPlanner.Query;
import io.tapline.network.rules.RuleMatch.Header;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Wanted;
import io.tapline.schema.proto.Match;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Tests that queries from a team whose scope is 10.0.2.0/24, if the compiler accepts them, make
 * switches mirror only packets with a source or destination in the scope, regardless of how hosts
 * and subnets are arranged.
 */
class ScopedRulesTest {
  private static final Rights RIGHTS =
      new Rights("web", false, new Scope(List.of(Scope.prefix("10.0.2.0/24").orElseThrow())));
  private static final List<EdgeSwitch> SWITCHES =
      List.of(
          new EdgeSwitch("around", List.of(IpPrefix.of("10.0.2.0/27"), IpPrefix.of("10.0.3.1"))),
          new EdgeSwitch("within", List.of(IpPrefix.of("10.0.2.64/26"))),
          new EdgeSwitch("beyond", List.of(IpPrefix.of("10.0.0.0/23"), IpPrefix.of("10.9.0.0/16"))),
          new EdgeSwitch("both", List.of(IpPrefix.of("10.0.2.128/25"), IpPrefix.of("10.0.4.0/22"))),
          new EdgeSwitch("six", List.of(IpPrefix.of("2001:db8::/32"))));
  private static final List<String> SIDES =
      List.of(
          "*",
          "*:80",
          "10.0.2.5",
          "10.0.2.5:80",
          "10.0.2.0/24",
          "10.0.2.0/24:*",
          "10.0.2.64/26:80-90",
          "10.0.2.128/25",
          "10.0.3.1:80",
          "10.0.0.0/16",
          "10.0.0.0/8:80",
          "0.0.0.0/0",
          "10.9.0.0/16",
          "2001:db8::/32",
          "10.0.2.7, 10.0.2.200:80",
          "10.0.2.9, 10.0.3.1");

  private static CompileResult compile(String source, String destination) {
    return Compiler.compile(
        "PARSE tcp_pkt_size FROM %s TO %s LIMIT 90s SAMPLE * PROCESS (top-k)"
            .formatted(source, destination),
        Fixtures.CATALOGUE,
        Inventory.empty(),
        Compiler.Options.local("web-1", RIGHTS));
  }

  private static IpPrefix address(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> IpPrefix.of("2001:db8::" + Integer.toHexString(random.nextInt(4)));
      case 1 -> IpPrefix.of("10.9.0." + random.nextInt(4));
      case 2, 3, 4 ->
          IpPrefix.of("10.0.2." + List.of(5, 7, 9, 70, 130, 200).get(random.nextInt(6)));
      default -> IpPrefix.of("10.0.%d.%d".formatted(random.nextInt(6), random.nextInt(2)));
    };
  }

  private static Header header(Random random) {
    return new Header(
        address(random),
        address(random),
        List.of(1, 6, 17).get(random.nextInt(3)),
        79 + random.nextInt(3),
        79 + random.nextInt(3),
        random.nextInt(2),
        0);
  }

  private static boolean isMine(IpPrefix address) {
    return address.toString().startsWith("10.0.2.");
  }

  @Test
  void trafficWithoutAnEndInTheScopeIsNotCopied() {
    Random random = new Random(1);
    Map<String, String> monitors =
        SWITCHES.stream().collect(Collectors.toMap(EdgeSwitch::id, edge -> "m-" + edge.id()));
    List<Query> queries = new ArrayList<>();
    int refused = 0;
    for (String source : SIDES) {
      for (String destination : SIDES) {
        CompileResult result = compile(source, destination);
        if (result.plan().isEmpty()) {
          refused++;
          continue;
        }
        Match match = result.plan().get().getMatch();
        String id = "web-" + queries.size();
        queries.add(new Query(id, match, MirrorPlanner.side(match), monitors, 0));
      }
    }
    assertThat(queries).hasSizeGreaterThan(50);
    assertThat(refused).isGreaterThan(50);
    int copies = 0;
    int alone = 0;
    for (int i = 0; i < queries.size(); i++) {
      // Tests each query alone, and together with others whose rules are interleaved.
      List<Query> someQueries = new ArrayList<>(List.of(queries.get(i)));
      for (int remaining = random.nextInt(3); remaining > 0; remaining--) {
        someQueries.add(queries.get(random.nextInt(queries.size())));
      }
      List<Query> different = someQueries.stream().distinct().toList();
      alone += different.size() == 1 ? 1 : 0;
      Map<String, List<Wanted>> wanted = MirrorPlanner.wanted(different, SWITCHES);
      for (EdgeSwitch edge : SWITCHES) {
        RuleTable table = RuleTable.of(wanted.getOrDefault(edge.id(), List.of()), 4096);
        for (int packet = 0; packet < 60; packet++) {
          Header h = header(random);
          if (!table.monitors(h).isEmpty()) {
            assertThat(isMine(h.from()) || isMine(h.to()))
                .as("%s copied at %s for %s", h, edge.id(), different)
                .isTrue();
            copies++;
          }
        }
      }
    }
    assertThat(copies).isGreaterThan(500);
    assertThat(alone).isPositive();
  }
}
