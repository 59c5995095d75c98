package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InventoryTest {
  @Test
  void readsHostsAndGroups() {
    assertThat(Fixtures.INVENTORY.names())
        .containsExactly("app-server", "branch", "h1", "h2", "web");
    assertThat(Fixtures.INVENTORY.addresses("H2"))
        .containsExactly("10.0.2.10/32", "2001:db8::2/128");
    assertThat(Fixtures.INVENTORY.addresses("web"))
        .containsExactly("10.0.2.9/32", "10.0.2.10/32", "2001:db8::2/128");
    assertThat(Fixtures.INVENTORY.addresses("app_server")).containsExactly("10.0.3.1/32");
    assertThat(Fixtures.INVENTORY.addresses("nobody")).isEmpty();
  }

  @Test
  void anInventoryMayBeEmpty() {
    assertThat(Inventory.fromYaml("").names()).isEmpty();
    assertThat(Inventory.fromYaml("# nothing yet\n").names()).isEmpty();
    assertThat(Inventory.fromYaml("hosts:\ngroups:\n").names()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'hosts: [' | inventory, line 1 column 9: not YAML: while parsing a flow node",
        "'h1' | inventory: must be a map of sections: hosts, groups, tenants, queries, texts, webhooks, topics, traffic and network",
        "'traffic: 5' | inventory, traffic: must have packets_per_second, a number above 0",
        "'traffic: {packets_per_second: 0}' | inventory, traffic: must have packets_per_second, a number above 0",
        "'traffic: {packets_per_second: 1000000, groups: many}' | inventory, traffic: groups must be a whole number",
        "'traffic: {packets_per_second: 1000000, flows: 1}' | inventory, traffic: must have no keys other than packets_per_second and groups",
        "'webhooks: {h1: 80}' | inventory, webhooks: must be a list of receivers such as https://alerts.example.com",
        "'webhooks: [80]' | inventory, webhooks: '80' is not a receiver such as https://alerts.example.com",
        "'webhooks: [\"http://h1/a\"]' | inventory, webhooks: 'http://h1/a' is not a receiver: it has a path; alerts may be posted to all paths of a receiver",
        "'webhooks: [\"ftp://h1\"]' | inventory, webhooks: 'ftp://h1' is not a receiver: it is not an http or https URL",
        "'webhooks: [\"h1:70000\"]' | inventory, webhooks: 'h1:70000' is not a receiver: 70000 is not a port",
        "'webhooks: [\"127.1\"]' | inventory, webhooks: '127.1' is not a receiver: 127.1 is neither a name nor an IPv4 address of four decimal numbers",
        "'webhooks: [{url: h1, privat: true}]' | inventory, webhooks: an entry has only url and private, not privat",
        "'webhooks: [{url: h1, private: 1}]' | inventory, webhooks: private of h1 must be true or false",
        "'webhooks: [{private: true}]' | inventory, webhooks: '' is not a receiver such as https://alerts.example.com",
        "'topics: all' | inventory, topics: must be a list of topics, or map tenants to lists",
        "'topics: {Web: [a]}' | inventory, topics.Web: is not a tenant: use lower-case letters and digits, or * for all",
        "'topics: {web: a}' | inventory, topics.web: must be a list of topics",
        "'topics: [a*b]' | inventory, topics: 'a*b' is not a topic: use letters, digits, '.', '_' and '-', with an optional * at the end",
        "'topics: [\"tapline.*\"]' | inventory, topics: 'tapline.*' is reserved for Tapline or Kafka: alerts can't be sent to it",
        "'topics: {web: [__consumer_offsets]}' | inventory, topics.web: '__consumer_offsets' is reserved for Tapline or Kafka: alerts can't be sent to it",
        "'host: {h1: 10.0.0.1}' | inventory, host: unknown section; did you mean hosts?",
        "'hosts: [h1]' | inventory, hosts: must map names to addresses",
        "'hosts: {h1: 10.0.0}' | inventory, hosts.h1: '10.0.0' is not an IPv4 or IPv6 address",
        "'hosts: {h1: 10.0.0.0/8}' | inventory, hosts.h1: '10.0.0.0/8' is not an IPv4 or IPv6 address",
        "'hosts: {h1: 7}' | inventory, hosts.h1: must be an address or a list of them",
        "'hosts: {h1: []}' | inventory, hosts.h1: needs an address",
        "'hosts: {h1: 10.0.0.1, H1: 10.0.0.2}' | inventory, hosts.H1: is the same name as h1",
        "'hosts: {\"a b\": 10.0.0.1}' | inventory, hosts.a b: is not a valid name: use letters, digits, '.', '_' and single '-'",
        "'hosts: {10.0.0.1: 10.0.0.1}' | inventory, hosts.10.0.0.1: is an address, not a name",
        "'{hosts: {h1: 10.0.0.1}, groups: {web: [h3]}}' |"
            + " inventory, groups.web: 'h3' is neither an address nor a host or earlier group of this file; did you mean h1?",
        "'groups: {web: 10.0.0.1/8}' | inventory, groups.web: '10.0.0.1/8' has bits beyond its length; write 10.0.0.0/8",
        "'groups: {web: 10.0.0.0/40}' | inventory, groups.web: the prefix length of '10.0.0.0/40' must be 0 to 32",
      })
  void refusesInvalidInventories(String yaml, String message) {
    assertThatThrownBy(() -> Inventory.fromYaml(yaml))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }

  @Test
  void namesOfHostsMayLookLikeNumbers() {
    Inventory inventory = Inventory.fromYaml("hosts: {\"101\": 10.0.0.1}");
    CompileResult result =
        Compiler.compile(
            "PARSE http_get TO 101:80 PROCESS (top-k)",
            Fixtures.CATALOGUE,
            inventory,
            Fixtures.OPTIONS);
    assertThat(result.plan().orElseThrow().getMatch().getTo(0).getPrefix())
        .isEqualTo("10.0.0.1/32");
  }
}
