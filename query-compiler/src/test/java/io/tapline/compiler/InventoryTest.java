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
  void mayBeEmpty() {
    assertThat(Inventory.fromYaml("").names()).isEmpty();
    assertThat(Inventory.fromYaml("# nothing yet\n").names()).isEmpty();
    assertThat(Inventory.fromYaml("hosts:\ngroups:\n").names()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'hosts: [' | inventory, line 1 column 9: not YAML: while parsing a flow node",
        "'h1' | inventory: must hold \"hosts:\" and may hold \"groups:\", \"tenants:\", \"queries:\", \"texts:\" and \"webhooks:\"",
        "'webhooks: [\"http://h1/\"]' | inventory, webhooks: 'http://h1/' is no host or host:port",
        "'webhooks: {h1: 80}' | inventory, webhooks: '80' is no host or host:port",
        "'host: {h1: 10.0.0.1}' | inventory, host: unknown section; did you mean hosts?",
        "'hosts: [h1]' | inventory, hosts: must map names to addresses",
        "'hosts: {h1: 10.0.0}' | inventory, hosts.h1: '10.0.0' is no IPv4 or IPv6 address",
        "'hosts: {h1: 10.0.0.0/8}' | inventory, hosts.h1: '10.0.0.0/8' is no IPv4 or IPv6 address",
        "'hosts: {h1: 7}' | inventory, hosts.h1: must be an address or a list of them",
        "'hosts: {h1: []}' | inventory, hosts.h1: needs an address",
        "'hosts: {h1: 10.0.0.1, H1: 10.0.0.2}' | inventory, hosts.H1: is the same name as h1",
        "'hosts: {\"a b\": 10.0.0.1}' | inventory, hosts.a b: is no name: letters, digits, '.', '_' and single '-' make one",
        "'hosts: {10.0.0.1: 10.0.0.1}' | inventory, hosts.10.0.0.1: is an address, not a name",
        "'{hosts: {h1: 10.0.0.1}, groups: {web: [h3]}}' |"
            + " inventory, groups.web: 'h3' is no address and no host or earlier group of this file; did you mean h1?",
        "'groups: {web: 10.0.0.1/8}' | inventory, groups.web: '10.0.0.1/8' has bits beyond its length; write 10.0.0.0/8",
        "'groups: {web: 10.0.0.0/40}' | inventory, groups.web: '10.0.0.0/40' has no prefix length from 0 to 32",
      })
  void refusesWhatIsNoInventory(String yaml, String message) {
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
