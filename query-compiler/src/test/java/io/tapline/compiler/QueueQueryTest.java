package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.taps.KnownTaps;
import io.tapline.compiler.text.Note;
import io.tapline.compiler.text.QueryError;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Sampling;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QueueQueryTest {
  private static final String PARSERS =
      """
      ,{"name": "queue_flows", "layer": "network", "main_fields": ["src_ip", "dst_ip"],
        "value_field": "queued_bytes", "duration": null, "all_traffic": true, "queues": true,
        "arguments": [
          {"name": "flow", "type": "string", "unit": "", "default": "five_tuple",
           "choices": ["five_tuple", "pair", "destination"]}],
        "fields": [
          {"name": "time_ns", "type": "i64", "unit": "ns", "common": true},
          {"name": "src_ip", "type": "string", "common": true, "address": true},
          {"name": "dst_ip", "type": "string", "common": true, "address": true},
          {"name": "queue", "type": "string"},
          {"name": "queued_bytes", "type": "u64", "unit": "bytes"}]},
      {"name": "queue_depth", "layer": "network", "main_fields": ["queue"],
        "value_field": "queued_bytes", "duration": null, "all_traffic": true, "queues": true,
        "fields": [
          {"name": "time_ns", "type": "i64", "unit": "ns", "common": true},
          {"name": "queue", "type": "string"},
          {"name": "queued_bytes", "type": "u64", "unit": "bytes"}]}
      ]}
      """;
  private static final Catalogue CATALOGUE = catalogue();
  private static final String NETWORK =
      """
      hosts: {h1: 10.0.1.1, h2: 10.0.1.2, at: 10.0.1.3}
      network:
        switches: {leaf1: [h1, h2], leaf2: [at], spine1: [], spine-2: []}
        links: [[leaf1, spine1], [leaf1, spine-2], [leaf1, spine-2], [leaf2, spine1]]
        ports:
          leaf1: {h1: 1, h2: 2, spine1: 3, spine-2: [4, 5]}
      """;
  private static final Inventory INVENTORY = Inventory.fromYaml(NETWORK);
  private static final String REST = " LIMIT 90s SAMPLE * PROCESS (top-k: by=queued_bytes, w=1s)";

  private static Catalogue catalogue() {
    String json = Fixtures.resource("parsers.json").strip();
    return Catalogue.fromJson(json.substring(0, json.length() - "]}".length()) + PARSERS);
  }

  private static CompileResult compile(
      String query, Inventory inventory, Compiler.Options options) {
    return Compiler.compile(query, CATALOGUE, inventory, options);
  }

  private static CompileResult compile(String query) {
    return compile(query, INVENTORY, Fixtures.OPTIONS);
  }

  private static Plan planOf(CompileResult result) {
    assertThat(result.errors()).isEmpty();
    return result.plan().orElseThrow();
  }

  private static Plan plan(String query) {
    return planOf(compile(query));
  }

  private static List<String> queues(Plan plan) {
    return plan.getQueuesList().stream().map(QueueReader::text).toList();
  }

  private static QueryError error(CompileResult result) {
    assertThat(result.errors()).hasSize(1);
    return result.errors().get(0);
  }

  private static QueryError at(String queues) {
    return error(compile("PARSE queue_flows FROM * TO * AT " + queues + REST));
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "leaf1:spine1 -> leaf1:3",
        "LEAF1:h1 -> leaf1:1",
        "leaf1:2 -> leaf1:2",
        "leaf1:002 -> leaf1:2",
        "leaf1:5 -> leaf1:5",
        "leaf2:spine1 -> leaf2:spine1",
        "leaf2:17 -> leaf2:17",
        "leaf2:at -> leaf2:at",
        "\"spine-2\":9 -> spine-2:9",
        "leaf1:h1, leaf2:at,spine1:leaf2 -> leaf1:1 leaf2:at spine1:leaf2",
      })
  void portsAreNamedByNeighbourOrNumber(String written, String ports) {
    Plan plan = plan("PARSE queue_flows FROM * TO * AT " + written + REST);
    assertThat(queues(plan)).containsExactly(ports.split(" "));
    assertThat(plan.getMatch()).isEqualTo(Match.getDefaultInstance());
    assertThat(plan.hasReported()).isFalse();
    assertThat(plan.getSampling().getMode()).isEqualTo(Sampling.Mode.OFF);
    assertThat(plan.getRulesList()).isEmpty();
  }

  @Test
  void withoutANetworkTapNamesAreUsed() {
    Plan plan =
        planOf(
            compile(
                "PARSE queue_flows FROM * TO * AT s1:2, \"Core A\":\"Gi0/1\"" + REST,
                Inventory.empty(),
                Fixtures.OPTIONS));
    assertThat(queues(plan)).containsExactly("s1:2", "Core A:Gi0/1");
  }

  @Test
  void theSwitchesOfAFatTreeAreKnown() {
    Inventory tree = Inventory.fromYaml("network: {fat_tree: 4}");
    String query = "PARSE queue_flows FROM * TO * AT %s" + REST;
    for (String queue :
        List.of("edge-0-1:h-0-1-0", "edge-3-0:aggregation-3-1", "core-3:aggregation-2-1")) {
      assertThat(queues(planOf(compile(query.formatted(queue), tree, Fixtures.OPTIONS))))
          .containsExactly(queue);
    }
    QueryError error =
        error(compile(query.formatted("core-3:aggregation-2-0"), tree, Fixtures.OPTIONS));
    assertThat(error.message()).isEqualTo("core-3 has no link to 'aggregation-2-0'");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "leaf9:h1 -> unknown switch 'leaf9' -> one of the inventory's switches: leaf1, leaf2, spine1, spine-2",
        "leaf1:h9 -> leaf1 has no link to 'h9' -> a port of leaf1: 1 (h1), 2 (h2), 3 (spine1), 4 (spine-2), 5 (spine-2)",
        "leaf1:leaf2 -> leaf1 has no link to 'leaf2' -> a port of leaf1: 1 (h1), 2 (h2), 3 (spine1), 4 (spine-2), 5 (spine-2)",
        "leaf1:6 -> leaf1 has no link at port 6 -> a port of leaf1: 1 (h1), 2 (h2), 3 (spine1), 4 (spine-2), 5 (spine-2)",
        "leaf2:0 -> leaf2 has no link at port 0 -> a port number from 1",
        "leaf1:spine-2 -> 2 links lead from leaf1 to spine-2 -> leaf1:4 or leaf1:5",
        "spine-2:leaf1 -> 2 links lead from spine-2 to leaf1 -> a port number, such as spine-2:1; network.ports in the inventory lists them",
      })
  void missingPortsAreErrorsThatListTheExistingOnes(String queue, String message, String expected) {
    QueryError error = at(queue);
    assertThat(error.message()).isEqualTo(message);
    assertThat(error.expected()).isEqualTo(expected);
    assertThat(error.line()).isEqualTo(1);
    assertThat(error.column()).isBetween(33, 40);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "leaf1:h1 -> leaf1:1 leads to the host h1, where no switch can copy departures",
        "leaf2:17 -> the inventory does not state where leaf2:17 leads, but departures are copied at the other end of the link: number the ports in network.ports",
        "leaf1:4 -> the inventory does not number the ports of spine-2, to which leaf1:4 leads (network.ports)",
      })
  void aQueueThatSwitchesCanNotCopyNeedsTaps(String queue, String message) {
    KnownTaps copies = new KnownTaps(List.of(List.of())).withCopies();
    QueryError error =
        error(
            compile(
                "PARSE queue_flows FROM * TO * AT " + queue + ", leaf1:spine1" + REST,
                INVENTORY,
                Fixtures.OPTIONS.withTaps(copies)));
    assertThat(error.message()).isEqualTo(message);
    assertThat(error.expected())
        .startsWith("a queue between two switches, or an agent with --tap leaf")
        .endsWith(":departures=INTERFACE");
  }

  @Test
  void aNearNameIsSuggested() {
    assertThat(at("leaf3:h1").suggestion()).isEqualTo("leaf1");
    assertThat(at("leaf1:spine3").suggestion()).isEqualTo("spine1");
  }

  @Test
  void allQueuesAreChecked() {
    assertThat(compile("PARSE queue_flows FROM * TO * AT x:1, leaf1:7, leaf1:h1" + REST).errors())
        .extracting(QueryError::message)
        .containsExactly("unknown switch 'x'", "leaf1 has no link at port 7");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"\":1",
        "\"a=b\":1",
        "s1:\"a:b\"",
        "s1:abcdefghijklmnopqrstuvwxy",
        "ääääääääääääé:1"
      })
  void namesHaveTheFormOfTaps(String queue) {
    String query = "PARSE queue_flows FROM * TO * AT " + queue + REST;
    QueryError error = error(compile(query, Inventory.empty(), Fixtures.OPTIONS));
    assertThat(error.code()).isEqualTo(QueryError.Code.RANGE);
    assertThat(error.expected()).isEqualTo("1 to 24 bytes, without ':' and '='");
  }

  @Test
  void tooManyQueuesAreAnError() {
    String queues =
        IntStream.rangeClosed(1, 33)
            .mapToObj("leaf2:%d"::formatted)
            .collect(Collectors.joining(","));
    assertThat(at(queues).message()).isEqualTo("AT names more than 32 queues");
  }

  @Test
  void aRepeatedQueueCausesANote() {
    CompileResult result = compile("PARSE queue_flows FROM * TO * AT leaf1:3, leaf1:spine1" + REST);
    assertThat(queues(planOf(result))).containsExactly("leaf1:3");
    assertThat(result.notes()).extracting(Note::message).contains("AT names leaf1:3 twice");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "AT",
        "AT leaf1",
        "AT leaf1:",
        "AT :3",
        "AT leaf1:3:arrivals",
        "AT leaf1:*",
        "AT *",
        "AT leaf1:3,",
        "AT leaf1:3 leaf1:4"
      })
  void otherFormsAreSyntaxErrors(String clause) {
    assertThat(compile("PARSE queue_flows FROM * TO * " + clause + REST).errors())
        .extracting(QueryError::code)
        .contains(QueryError.Code.SYNTAX);
  }

  @Test
  void theClauseHasAFixedPosition() {
    assertThat(compile("PARSE queue_flows AT leaf1:3 FROM * TO *" + REST).errors())
        .extracting(QueryError::message)
        .containsExactly("FROM must come before AT", "TO must come before AT");
    assertThat(
            error(compile("PARSE queue_flows FROM * TO * AT leaf1:3 AT leaf1:2" + REST)).message())
        .isEqualTo("AT is given twice");
  }

  /** Tests queries that use {@code at} as a name, which were valid before AT became a keyword. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "PARSE http_get FROM at TO at:80 PROCESS (top-k)",
        "PARSE http_get FROM * TO h1, at PROCESS (top-k)",
        "PARSE http_get TO \"at\" PROCESS (top-k)",
        "PARSE http_get TO h1 WHERE url = at AND host = at OR NOT method = at PROCESS (top-k)",
        "PARSE http_get TO h1 WHERE method = (GET, at) PROCESS (top-k)",
        "PARSE http_get TO h1 PROCESS (trigger: when=\"count() > 1\", group=url, every=1s, severity=info)",
      })
  void theWordAtRemainsAValidName(String query) {
    assertThat(compile(query).errors()).isEmpty();
    assertThat(Formatter.format(query).errors()).isEmpty();
  }

  @Test
  void theKeywordMayBeInLowerCase() {
    assertThat(queues(plan("parse queue_flows from at to at at leaf2:at" + REST)))
        .containsExactly("leaf2:at");
  }

  @Test
  void fromAndToSelectReportedFlows() {
    Plan plan = plan("PARSE queue_flows FROM 10.0.0.0/8 TO h1:80 AT leaf1:3" + REST);
    assertThat(plan.getMatch()).isEqualTo(Match.getDefaultInstance());
    assertThat(plan.getReported().getFrom(0).getPrefix()).isEqualTo("10.0.0.0/8");
    assertThat(plan.getReported().getTo(0).getPort()).isEqualTo(80);
    Plan everywhere = plan("PARSE queue_flows FROM * TO *:80" + REST);
    assertThat(everywhere.getMatch()).isEqualTo(Match.getDefaultInstance());
    assertThat(everywhere.getReported().getTo(0).getPort()).isEqualTo(80);
  }

  @ParameterizedTest
  @ValueSource(strings = {"queue_flows FROM * TO *", "tcp_pkt_size FROM * TO *:80"})
  void onlyANetworkMakesAWarningMentionSwitches(String clauses) {
    String query = "PARSE " + clauses + " LIMIT 90s SAMPLE * PROCESS (group-count: w=1s)";
    String warning = warning(compile(query, INVENTORY, Fixtures.OPTIONS));
    assertThat(warning)
        .contains("every packet, and in the inventory's network every edge switch has to mirror");
    assertThat(warning(compile(query, Inventory.empty(), Fixtures.OPTIONS)))
        .contains("every packet")
        .doesNotContain("switch");
  }

  private static String warning(CompileResult result) {
    return result.notes().stream()
        .map(Note::message)
        .filter(message -> message.contains("inspects every packet"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void tuplesOfWholeQueuesAreNotRestricted() {
    CompileResult result = compile("PARSE queue_flows, queue_depth TO h1 AT leaf1:3" + REST);
    assertThat(result.errors()).isEmpty();
    assertThat(result.notes())
        .extracting(Note::message)
        .contains("queue_depth describes whole queues: FROM and TO do not restrict its tuples");
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "queue_flows(flow=destination) FROM h1 TO * -> queue_flows(flow=destination) aggregates over all senders to a destination, so FROM and TO can't select among them",
        "queue_flows(flow=pair) FROM * TO h1:80 -> queue_flows(flow=pair) aggregates over all ports of two addresses, so FROM and TO can't select among them",
        "tcp_pkt_size, queue_flows FROM * TO * -> AT names queues, and tcp_pkt_size does not measure them",
        "tcp_pkt_size FROM * TO h1 -> AT names queues, and tcp_pkt_size does not measure them",
        "queue_flows FROM * TO * AT leaf1:3 VLAN 7 -> queue_flows must see all packets, but VLAN selects only some",
      })
  void conflictingClausesAreErrors(String clauses, String message) {
    String atClause = clauses.contains(" AT ") ? "" : " AT leaf1:3";
    String process = " LIMIT 90s SAMPLE * PROCESS (group-count: group=src_ip, w=1s)";
    assertThat(error(compile("PARSE " + clauses + atClause + process)).message())
        .isEqualTo(message);
  }

  @Test
  void otherParsersOfTheQueryGetTheSelectedPackets() {
    QueryError error = error(compile("PARSE queue_flows, tcp_pkt_size FROM * TO h1" + REST));
    assertThat(error.message())
        .isEqualTo("queue_flows must see all packets, but TO selects only some");
  }

  @Test
  void flowsAreNotSampled() {
    QueryError error =
        error(
            compile(
                "PARSE queue_flows FROM * TO * AT leaf1:3 SAMPLE 0.5 PROCESS (top-k: by=queued_bytes, w=1s)"));
    assertThat(error.message()).isEqualTo("queue_flows must see all flows, but SAMPLE drops some");
  }

  @Test
  void restrictedTokensCannotUseAt() {
    Scope subnet = new Scope(List.of(IpPrefix.parse("10.0.1.1").orElseThrow()));
    for (Rights rights :
        List.of(new Rights("shop", false, Scope.EVERYTHING), new Rights("shop", true, subnet))) {
      Compiler.Options options = Compiler.Options.local("q-test", rights);
      for (String queue : List.of("leaf1:3", "nowhere:h1")) {
        QueryError error =
            error(
                compile(
                    "PARSE queue_flows FROM 10.0.1.1 TO * AT " + queue + REST, INVENTORY, options));
        assertThat(error.code()).isEqualTo(QueryError.Code.FORBIDDEN);
        assertThat(error.message()).isEqualTo("AT measures all traffic of a port");
        assertThat(error.column()).isEqualTo(38);
      }
      QueryError error =
          error(compile("PARSE queue_flows FROM 10.0.1.1 TO *" + REST, INVENTORY, options));
      assertThat(error.message()).isEqualTo("queue_flows measures all traffic of a port");
    }
  }

  @Test
  void knownTapsMustCoverBothSidesOfAQueue() {
    KnownTaps taps =
        KnownTaps.ofOptions(
            List.of(
                "leaf1:3:arrivals=m0",
                "leaf1:3:departures=m1",
                "leaf1:2:departures=m2",
                "leaf2:arrivals=m3"));
    Compiler.Options options = Fixtures.OPTIONS.withTaps(taps);
    String query = "PARSE queue_flows FROM * TO * AT leaf1:%s" + REST;
    planOf(compile(query.formatted("spine1"), INVENTORY, options));
    QueryError one = error(compile(query.formatted("h2"), INVENTORY, options));
    assertThat(one.message()).isEqualTo("leaf1:2 has a tap on one side only");
    assertThat(one.expected()).isEqualTo("--tap leaf1:2:arrivals=SOURCE; with both taps: leaf1:3");
    QueryError none = error(compile(query.formatted("h1"), INVENTORY, options));
    assertThat(none.message()).isEqualTo("leaf1:1 has no taps");
    assertThat(none.expected())
        .isEqualTo(
            "--tap leaf1:1:arrivals=SOURCE and --tap leaf1:1:departures=SOURCE; with both taps: leaf1:3");
  }

  @Test
  void bothSidesOfAQueueGoToOneMonitor() {
    KnownTaps separate =
        new KnownTaps(List.of(List.of("s1:2:arrivals"), List.of("s1:2:departures")));
    String query = "PARSE queue_flows FROM * TO * AT s1:2" + REST;
    assertThat(
            error(compile(query, Inventory.empty(), Fixtures.OPTIONS.withTaps(separate))).message())
        .isEqualTo("s1:2 has a tap on one side only");
  }

  @Test
  void theClauseIsFormattedAndExplained() {
    String query =
        "parse queue_flows from 10.0.0.0/8 to * at leaf1:spine1,leaf2:17 -- uplinks\nlimit 90s sample * process (top-k: by=queued_bytes, w=1s)";
    String formatted = Formatter.format(query).text();
    assertThat(formatted)
        .isEqualTo(
            """
            PARSE queue_flows
            FROM 10.0.0.0/8 TO *
            -- uplinks
            AT leaf1:spine1, leaf2:17
            LIMIT 90s SAMPLE *
            PROCESS (top-k: by=queued_bytes, w=1s)""");
    assertThat(Formatter.format(formatted).text()).isEqualTo(formatted);
    assertThat(Formatter.format("PARSE queue_flows FROM * TO * AT leaf1:3" + REST).text())
        .contains("\nFROM * TO * AT leaf1:3\n");
    assertThat(Explain.render(plan(query), List.of()))
        .contains(
            """
            match     all packets of these queues, at the taps of both sides
              at      leaf1:3
                      leaf2:17
            report    flows between FROM and TO, in either direction; all flows are measured
              from    10.0.0.0/8, any port
              to      any
            """);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      value = {
        "ports: 7 -> inventory, network.ports: must map switches to their ports",
        "ports: {s9: {h1: 1}} -> inventory, network.ports.s9: the network has no such switch",
        "ports: {s1: 3} -> inventory, network.ports.s1: must map neighbours to port numbers",
        "ports: {s1: {h9: 1}} -> inventory, network.ports.s1.h9: the number of ports given (1) differs from the number of links from s1 to h9 (0)",
        "ports: {s1: {h1: 0}} -> inventory, network.ports.s1.h1: must be a port number from 1, or a list of them",
        "ports: {s1: {h1: x}} -> inventory, network.ports.s1.h1: must be a port number from 1, or a list of them",
        "ports: {s1: {h1: 1, h2: 1}} -> inventory, network.ports.s1.h2: port 1 of s1 is given twice",
      })
  void wrongPortsOfAnInventoryAreRefused(String ports, String message) {
    String yaml = "network:\n  switches: {s1: [h1, h2]}\n  " + ports;
    assertThatThrownBy(() -> Inventory.fromYaml(yaml)).hasMessage(message);
  }

  /** Checks that random text after AT either compiles or is rejected with errors. */
  @Test
  void hostileClausesAreErrors() {
    Random random = new Random(7);
    String[] pieces = {
      "leaf1",
      ":",
      "3",
      ",",
      "\"",
      "spine1",
      " ",
      "*",
      "AT",
      "::",
      "/",
      "(",
      ")",
      "-",
      "\uD83D\uDE00",
      "0",
      "9999999999999",
      "\n",
      "--",
      "/*"
    };
    for (int i = 0; i < 5000; i++) {
      StringBuilder queues = new StringBuilder();
      for (int n = random.nextInt(12); n >= 0; n--) {
        queues.append(pieces[random.nextInt(pieces.length)]);
      }
      CompileResult result = compile("PARSE queue_flows FROM * TO * AT " + queues + REST);
      assertThat(result.plan().isPresent())
          .as(queues.toString())
          .isEqualTo(result.errors().isEmpty());
    }
  }
}
