package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.TriggerCompiler.Alerting;
import io.tapline.compiler.TriggerCompiler.CompiledTriggers;
import io.tapline.compiler.TriggerCompiler.TriggerText;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TriggerCompilerTest {
  private static final String CLAUSES = "PARSE packets FROM * TO * SAMPLE *";
  private static final int TRIGGERS = 1000;

  private static final List<String> WHEN =
      List.of(
          "count > 5",
          "sum(bytes) > 50KB",
          "sum(bytes) / count >= 1KB and count > 3",
          "burst(bytes, 100us) > 64KB",
          "share(syn) > 0.5",
          "count(syn) - count(fin) > 100 or count < 2",
          "rate(bytes) > 1MB/s",
          "max(bytes) > 1500",
          "p99(bytes) > 5",
          "sum(byte) > 1",
          "count >",
          "",
          " ",
          "count > 5 -- more",
          "count > \\\"5\\\"",
          "count > 5\\",
          "count\n> 5",
          "count > 5\" , after=\"3",
          "größe > \uD83D\uDE00",
          "\uD83D > 1");

  private static final List<String> ONLY =
      List.of(
          "",
          " ",
          "dst_port == 80",
          "dst_port in {80, 443}",
          "src_ip in 10.1.0.0/16 && dst_port in {80, 443}",
          "src_ip in 2001:db8::/32",
          "dst_ip == h1",
          "dst_port == 80 || dst_port == 81",
          "src_port > 1024",
          "src_ip > 10.0.0.0",
          "ttl < 5",
          "dst_port ==",
          "dst_port == 99999",
          "dst_port == h1",
          "dst_ip == nowhere",
          "dst_port == 80 /* web */",
          "dst_port == \\\"80\\\"",
          "dst_port\r== 80");

  private static final List<String> GROUPS =
      List.of(
          "src_ip",
          "dst_ip",
          "src_port",
          "dst-port",
          "SRCIP",
          "src_ip/24",
          "dst_ip/24/64",
          "flow",
          "src_ip/99",
          "src_port/24",
          "url",
          "at",
          "from",
          "src--ip",
          "src_ip-",
          "_");

  private static final List<Long> EVERY =
      List.of(1_000_000L, 10_000_000L, 1_000_000_000L, 90_000_000_000L, 500_000L, 1_500_000L, 7L);

  private static final List<Integer> PANES = List.of(1, 1, 2, 100, 101, 0);

  private static final List<Integer> AFTER = List.of(1, 1, 1, 3, 0, 2_000_000_000);

  private static final List<String> CLEAR =
      List.of(
          "",
          "",
          "2",
          "count < 3",
          "3KB",
          " ",
          "sum(bytes) < 1KB and count < 9",
          "count",
          "5 apples",
          "count < \\\"5\\\"",
          "2\", after=\"3");

  private static final List<Long> COOLDOWN =
      List.of(0L, 0L, 5_000_000L, 90_000_000_000L, 500_000L, 7L);

  private static final List<String> SEVERITIES = List.of("info", "warning", "critical", "loud");

  private static <T> T any(Random random, List<T> list) {
    // Prefers the first four elements, which are valid.
    int bound = random.nextInt(4) == 0 ? list.size() : Math.min(4, list.size());
    return list.get(random.nextInt(bound));
  }

  private static TriggerText random(Random random) {
    List<String> group = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      group.add(any(random, GROUPS));
    }
    long everyNs = any(random, EVERY);
    return new TriggerText(
        any(random, WHEN),
        group,
        any(random, ONLY),
        everyNs,
        everyNs * any(random, PANES),
        new Alerting(
            any(random, AFTER),
            any(random, CLEAR),
            any(random, COOLDOWN),
            any(random, SEVERITIES.subList(0, random.nextInt(20) == 0 ? 4 : 3))));
  }

  private static CompileResult whole(TriggerText trigger, Inventory inventory) {
    String text = CLAUSES + " PROCESS " + trigger.text();
    return Compiler.compile(text, Fixtures.CATALOGUE, inventory, Fixtures.OPTIONS);
  }

  private static TriggerCompiler compiler(Inventory inventory) {
    return new TriggerCompiler(CLAUSES, Fixtures.CATALOGUE, inventory, Fixtures.OPTIONS);
  }

  private static Inventory withTraffic() {
    return Inventory.fromYaml(
        Fixtures.resource("inventory.yaml")
            + "\ntraffic:\n  packets_per_second: 5000000\n  groups: 20000\n");
  }

  /**
   * Compares random triggers compiled alone with the same triggers in whole queries. Returns the
   * number that compile alone.
   */
  private static int compareAlone(Inventory inventory) {
    TriggerCompiler compiler = compiler(inventory);
    Random random = new Random(1);
    int right = 0;
    for (int i = 0; i < TRIGGERS; i++) {
      TriggerText trigger = random(random);
      CompileResult whole = whole(trigger, inventory);
      Optional<PacketTrigger> expected =
          whole
              .plan()
              .filter(plan -> plan.getTriggersCount() == 1)
              .map(plan -> plan.getTriggers(0));
      Optional<PacketTrigger> alone = compiler.alone(trigger);
      if (alone.isPresent()) {
        assertThat(alone).as(trigger.text()).isEqualTo(expected);
        right++;
      } else if (expected.isPresent()) {
        assertThat(trigger.when() + trigger.only() + trigger.alerting().clear())
            .as("only unusual characters need the grammar")
            .containsPattern("[\"\\\\\r\n\ud800-\udfff]");
      }
      CompiledTriggers compiled = compiler.compile(List.of(trigger));
      assertThat(compiled.triggers()).as(trigger.text()).isEqualTo(expected.stream().toList());
      assertThat(compiled.errors()).as(trigger.text()).isEqualTo(whole.errors());
    }
    return right;
  }

  @Test
  void aTriggerCompiledAloneIsThatOfTheWholeQuery() {
    int right = compareAlone(Fixtures.INVENTORY);
    assertThat(right).isBetween(TRIGGERS / 5, TRIGGERS * 4 / 5);
  }

  @Test
  void theCostOfATriggerIsComparedWithTheInventorysTraffic() {
    int right = compareAlone(withTraffic());
    assertThat(right).isBetween(1, compareAlone(Fixtures.INVENTORY) - 1);
  }

  @Test
  void aListIsCompiledUpToTheFirstInvalidTrigger() {
    Random random = new Random(2);
    TriggerCompiler compiler = compiler(Fixtures.INVENTORY);
    for (int round = 0; round < 20; round++) {
      List<TriggerText> triggers = new ArrayList<>();
      List<PacketTrigger> expected = new ArrayList<>();
      boolean wrong = false;
      for (int i = 0; i < 20; i++) {
        TriggerText trigger = random(random);
        triggers.add(trigger);
        Optional<Plan> plan = whole(trigger, Fixtures.INVENTORY).plan();
        wrong |= plan.isEmpty();
        if (!wrong) {
          expected.add(plan.orElseThrow().getTriggers(0));
        }
      }
      CompiledTriggers compiled = compiler.compile(triggers);
      assertThat(compiled.triggers()).isEqualTo(expected);
      assertThat(compiled.errors())
          .isEqualTo(
              expected.size() == triggers.size()
                  ? List.of()
                  : whole(triggers.get(expected.size()), Fixtures.INVENTORY).errors());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PARSE packets FROM * TO nowhere SAMPLE *",
        "PARSE packets FROM * TO * SAMPLE 0.1",
        "PARSE",
        "PARSE http_get FROM * TO * SAMPLE *"
      })
  void clausesWithoutTriggersOnPacketsHaveTheirErrors(String clauses) {
    TriggerCompiler compiler =
        new TriggerCompiler(clauses, Fixtures.CATALOGUE, Fixtures.INVENTORY, Fixtures.OPTIONS);
    TriggerText trigger = new TriggerText("count > 5", List.of(), "", 1_000_000_000, "info");
    CompiledTriggers compiled = compiler.compile(List.of(trigger));
    assertThat(compiled.triggers()).isEmpty();
    assertThat(compiled.errors())
        .isEqualTo(Fixtures.compile(clauses + " PROCESS " + trigger.text()).errors());
  }

  @Test
  void aLongTriggerIsRefusedAsAWhole() {
    TriggerText trigger =
        new TriggerText("count > " + "1".repeat(70_000), List.of(), "", 1_000_000_000, "info");
    assertThat(compiler(Fixtures.INVENTORY).compile(List.of(trigger)).errors())
        .isEqualTo(whole(trigger, Fixtures.INVENTORY).errors());
  }

  @Test
  void hostsOutsideTheScopeAreUnknown() {
    Rights rights =
        new Rights("web", false, new Scope(List.of(Scope.prefix("10.0.2.0/24").orElseThrow())));
    Compiler.Options options = Compiler.Options.local("q-test", rights);
    String clauses = "PARSE packets FROM * TO 10.0.2.0/24 SAMPLE *";
    TriggerCompiler compiler =
        new TriggerCompiler(clauses, Fixtures.CATALOGUE, Fixtures.INVENTORY, options);
    for (String only : List.of("dst_ip == h1", "dst_ip == 10.0.2.8", "dst_port == 80")) {
      TriggerText trigger = new TriggerText("count > 5", List.of(), only, 1_000_000_000, "info");
      CompileResult whole =
          Compiler.compile(
              clauses + " PROCESS " + trigger.text(),
              Fixtures.CATALOGUE,
              Fixtures.INVENTORY,
              options);
      CompiledTriggers compiled = compiler.compile(List.of(trigger));
      assertThat(compiled.errors()).as(only).isEqualTo(whole.errors());
      assertThat(compiled.triggers())
          .as(only)
          .isEqualTo(whole.plan().map(Plan::getTriggersList).orElse(List.of()));
    }
  }
}
