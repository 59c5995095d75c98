package io.tapline.control.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests {@code --parser} with several parsers, and with parsers that have arguments. */
class ParseCommandTest {
  @Test
  void commasInParenthesesSeparateArguments() {
    assertThat(ParseCommand.split("http_get")).containsExactly("http_get");
    assertThat(ParseCommand.split("http_get,tcp_pkt_size"))
        .containsExactly("http_get", "tcp_pkt_size");
    assertThat(ParseCommand.split("link_load(link=1,every=1ms),flow_rate(every=1ms,link=2),icmp"))
        .containsExactly("link_load(link=1,every=1ms)", "flow_rate(every=1ms,link=2)", "icmp");
    assertThat(ParseCommand.split("")).containsExactly("");
    assertThat(ParseCommand.split("a,,b(x=1,")).containsExactly("a", "", "b(x=1,");
  }
}
