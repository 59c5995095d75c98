package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.text.ErrorRenderer;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Action;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the allowed receivers of alerts: webhooks and topics. */
class AlertReceiversTest {
  private static final String WEBHOOKS =
      """
      webhooks:
        - https://ops.example
        - http://10.0.2.9:8080
        - "h2:8443"
        - pager.example.
        - "[2001:DB8::0:1]:80"
        - https://bücher.example
        - {url: "http://alerts.internal:9000", private: true}
      queries:
        paging: >
          PARSE tcp_pkt_size TO 10.0.0.1
          PROCESS (trigger: when="count > 3", topic="alerts.db.new", webhook="http://redis:6379/")
      """;
  private static final Rights WEB =
      new Rights("web", false, new Scope(List.of(Scope.prefix("10.0.0.0/24").orElseThrow())));

  private static CompileResult compile(String text, String inventory, Rights rights) {
    return Compiler.compile(
        text,
        Fixtures.CATALOGUE,
        Inventory.fromYaml(inventory),
        Compiler.Options.local(rights.tenant() + "-1", rights));
  }

  private static String trigger(String arguments) {
    return "PARSE tcp_pkt_size TO 10.0.0.1 PROCESS (trigger: when=\"count > 3\", %s)"
        .formatted(arguments);
  }

  private static Action action(CompileResult result) {
    return result.plan().orElseThrow().getProcessors(0).getTrigger().getActions(0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          https://ops.example/a?b=c     | https://ops.example/a?b=c    | false
          HTTPS://OPS.Example./         | https://ops.example/         | false
          https://ops.example:443       | https://ops.example/         | false
          http://10.0.2.9:8080/x        | http://10.0.2.9:8080/x       | true
          https://h2:8443/              | https://h2:8443/             | false
          http://h2:8443/               | http://h2:8443/              | false
          http://pager.example          | http://pager.example/        | false
          https://pager.example/ä       | https://pager.example/%C3%A4 | false
          http://[2001:db8::1]/         | http://[2001:db8::1]/        | true
          https://BÜCHER.example/       | https://xn--bcher-kva.example/ | false
          https://xn--bcher-kva.example | https://xn--bcher-kva.example/ | false
          http://alerts.internal:9000/a | http://alerts.internal:9000/a | true
          """)
  void webhooksResolveToInventoryUrls(String url, String called, boolean mayBePrivate) {
    Action action = action(compile(trigger("webhook=\"%s\"".formatted(url)), WEBHOOKS, Rights.ALL));
    assertThat(action.getWebhook()).isEqualTo(called);
    assertThat(action.getPrivateAddresses()).isEqualTo(mayBePrivate);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://ops.example/",
        "https://ops.example:9/",
        "https://ops.example.evil/",
        "https://evil.ops.example/",
        "http://10.0.2.9/x",
        "https://10.0.2.9:8080/",
        "http://[::ffff:a00:209]:8080/",
        "http://h2/",
        "http://alerts.internal/",
        "https://alerts.internal:9000/",
        "http://127.0.0.1:6379/",
        "http://localhost/",
        "http://redis:6379/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[fe80::1]/",
        "http://[64:ff9b::a9fe:a9fe]/",
      })
  void otherWebhooksAreForbidden(String url) {
    assertThat(compile(trigger("webhook=\"%s\"".formatted(url)), WEBHOOKS, Rights.ALL).errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.code()).isEqualTo(QueryError.Code.FORBIDDEN);
              assertThat(error.message()).contains("alerts may not be posted to", url);
              assertThat(error.expected()).contains("https://ops.example", "h2:8443");
            });
  }

  /** These spellings are rejected, regardless of how a library would read them. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ftp://ops.example/                 | it is not an http or https URL
          //ops.example/                     | it is not an http or https URL
          http://ops.example\\\\@evil/       | it is not an http or https URL
          http:///x                          | it is not an http or https URL
          https://ops.example@169.254.169.254/ | it contains a user name
          https://a:b@ops.example/           | it contains a user name
          http://2130706433/                 | neither a name nor an IPv4 address
          http://0x7f000001/                 | neither a name nor an IPv4 address
          http://0x7f.1/                     | neither a name nor an IPv4 address
          http://127.1/                      | neither a name nor an IPv4 address
          http://0177.0.0.1/                 | neither a name nor an IPv4 address
          http://10.0.2.9.1:8080/            | neither a name nor an IPv4 address
          http://ops_example/                | neither a name nor an IPv4 address
          http://ops.example../              | is not a host name
          http://%6fps.example/              | neither a name nor an IPv4 address
          http://[fe80::1%25eth0]/           | is not an IPv6 address
          http://[ops.example]/              | is not an IPv6 address
          https://ops.example:0/             | 0 is not a port
          https://ops.example:70000/         | 70000 is not a port
          https://ops.example:/              | is not a host or HOST:PORT
          https://ops.example:443:80/        | is not a host or HOST:PORT
          https://ops.example/#a             | it has a fragment
          https://ops.example/%zz            | its path is not valid in a URL
          """)
  void ambiguousOrInvalidUrlsAreRejected(String url, String reason) {
    assertThat(compile(trigger("webhook=\"%s\"".formatted(url)), WEBHOOKS, Rights.ALL).errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.code()).isEqualTo(QueryError.Code.TYPE);
              assertThat(error.message()).contains("webhook can't be").contains(reason);
            });
  }

  @Test
  void withoutAListNoAlertsArePosted() {
    for (String inventory : List.of("", "webhooks:\n", "webhooks: []")) {
      CompileResult result =
          compile(trigger("webhook=\"https://ops.example/\""), inventory, Rights.ALL);
      assertThat(result.errors())
          .singleElement()
          .satisfies(
              error -> {
                assertThat(error.code()).isEqualTo(QueryError.Code.FORBIDDEN);
                assertThat(error.expected()).isEqualTo("none: the inventory lists no webhooks");
              });
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          alerts.web.slow     | web | topics: []                        | true
          alerts.web.         | web | topics: []                        | false
          alerts.web          | web | topics: []                        | false
          alerts.webx.slow    | web | topics: []                        | false
          alerts.db.slow      | web | topics: []                        | false
          alerts.db.slow      | web | topics: [alerts.db.slow]          | true
          pager               | web | topics: [pager]                   | true
          pager2              | web | topics: [pager]                   | false
          noc.web.a           | web | 'topics: {web: [noc.web.*]}'      | true
          noc.web.            | web | 'topics: {web: [noc.web.*]}'      | false
          noc.web.a           | db  | 'topics: {web: [noc.web.*]}'      | false
          noc.web.a           | db  | 'topics: {"*": ["noc.*"]}'        | true
          anything            | q   | topics: []                        | false
          alerts.anything     | q   | topics: []                        | true
          alerts.web.slow     | q   | topics: []                        | true
          anything            | web | 'topics: ["*"]'                   | true
          tapline.tuples.db-1 | web | 'topics: ["*", "t*"]'             | false
          tapline.tuples.db-1 | q   | 'topics: ["*", "t*"]'             | false
          __consumer_offsets  | web | 'topics: ["*", "_*"]'             | false
          __consumer_offsets  | q   | 'topics: ["*", "_*"]'             | false
          ..                  | web | 'topics: ["*"]'                   | false
          Alerts.web.slow     | web | topics: []                        | false
          """)
  void topicsAreTheTenantsOrListed(String topic, String tenant, String inventory, boolean allowed) {
    Rights rights = new Rights(tenant, true, Scope.EVERYTHING);
    String text = trigger("topic=\"%s\"".formatted(topic));
    CompileResult result = compile(text, inventory, rights);
    if (allowed) {
      assertThat(action(result).getTopic()).isEqualTo(topic);
    } else {
      assertThat(result.errors())
          .singleElement()
          .satisfies(
              error -> {
                assertThat(error.code()).isEqualTo(QueryError.Code.FORBIDDEN);
                assertThat(error.message()).contains("'" + topic + "'");
                assertThat(error.column()).isEqualTo(1 + text.indexOf("\"" + topic));
              });
    }
  }

  @Test
  void errorsListTheTopicsOfTheTenant() {
    String text = trigger("topic=tapline.tuples.db-1");
    CompileResult result = compile(text, "topics: {web: [pager], db: [secret]}", WEB);
    assertThat(ErrorRenderer.render(text, result.errors()))
        .contains("alerts may not be sent to topic 'tapline.tuples.db-1'")
        .contains("expected: one of alerts.web.*, pager\n")
        .doesNotContain("secret");
  }

  @Test
  void missingTopicsAreReportedToTheirUsers() {
    Compiler.Options options =
        Compiler.Options.local("web-1", WEB)
            .withMissingTopics(Set.of("alerts.web.a", "alerts.db.a"));
    String text = trigger("topic=alerts.web.a");
    CompileResult result = Compiler.compile(text, Fixtures.CATALOGUE, Inventory.empty(), options);
    assertThat(ErrorRenderer.render(text, result.errors()))
        .contains("there is no topic 'alerts.web.a'")
        .contains("kafka-topics.sh --create --topic alerts.web.a");
    assertThat(result.errors().get(0).code()).isEqualTo(QueryError.Code.UNKNOWN_NAME);
    CompileResult foreign =
        Compiler.compile(
            trigger("topic=alerts.db.a"), Fixtures.CATALOGUE, Inventory.empty(), options);
    assertThat(foreign.errors().get(0).code()).isEqualTo(QueryError.Code.FORBIDDEN);
  }

  @Test
  void namedQueriesAreCheckedForTheirCaller() {
    CompileResult result = compile("USE paging", WEBHOOKS, WEB);
    assertThat(ErrorRenderer.render("USE paging", result.errors()))
        .contains("in the query 'paging': alerts may not be sent to topic 'alerts.db.new'")
        .contains("in the query 'paging': alerts may not be posted to 'http://redis:6379/'");
  }

  @Test
  void explainShowsWebhooksAndTopics() {
    CompileResult result =
        compile(trigger("webhook=\"HTTPS://Ops.example/a\", topic=alerts.web.slow"), WEBHOOKS, WEB);
    String text = Explain.render(result.plan().orElseThrow(), result.notes());
    assertThat(text)
        .contains("call    POST https://ops.example/a with each alert, at a public address only\n")
        .contains("send    each alert to the Kafka topic alerts.web.slow\n");
    assertThat(Explain.json(result.plan().orElseThrow()))
        .contains("\"webhook\": \"https://ops.example/a\"", "\"topic\": \"alerts.web.slow\"");
    CompileResult internal =
        compile(trigger("webhook=\"http://alerts.internal:9000\""), WEBHOOKS, WEB);
    assertThat(Explain.render(internal.plan().orElseThrow(), List.of()))
        .contains("call    POST http://alerts.internal:9000/ with each alert\n");
    assertThat(Explain.json(internal.plan().orElseThrow())).contains("\"private_addresses\": true");
  }
}
