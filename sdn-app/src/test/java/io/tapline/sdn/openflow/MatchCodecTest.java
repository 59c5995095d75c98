package io.tapline.sdn.openflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.TcpFlags;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.projectfloodlight.openflow.protocol.OFFactories;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.OFVersion;

class MatchCodecTest {
  @Test
  void encodedMatchesAreDecodedUnchanged() {
    RuleMatch all =
        new RuleMatch(IpPrefix.all(4), IpPrefix.all(4), 0, PortMask.ANY, PortMask.ANY, 0, 0);
    RuleMatch web =
        new RuleMatch(
            IpPrefix.of("2001:db8::/32"), IpPrefix.all(6), 6, PortMask.ANY, PortMask.of(80), 7, 9);
    List<FlowMatch> matches =
        List.of(
            FlowMatch.ALL,
            FlowMatch.to(0x020000000001L),
            FlowMatch.of(all),
            FlowMatch.of(3, 0x020000000001L, all),
            FlowMatch.of(3, FlowMatch.ANY_MAC, web),
            FlowMatch.of(3, 0x020000000001L, web).with(TcpFlags.DATA));
    for (OFVersion version : List.of(OFVersion.OF_13, OFVersion.OF_14)) {
      OFFactory factory = OFFactories.getFactory(version);
      for (FlowMatch match : matches) {
        assertThat(MatchCodec.decode(MatchCodec.encode(factory, match))).isEqualTo(match);
      }
    }
  }

  @Test
  void matchesUseTheSyntaxOfOvsOfctl() {
    RuleMatch all =
        new RuleMatch(IpPrefix.all(4), IpPrefix.all(4), 0, PortMask.ANY, PortMask.ANY, 0, 0);
    assertThat(FlowMatch.of(3, 0x020000000001L, all))
        .hasToString("ip,in_port=3,dl_dst=02:00:00:00:00:01");
    RuleMatch tcp =
        new RuleMatch(IpPrefix.all(4), IpPrefix.all(4), 6, PortMask.ANY, PortMask.ANY, 0, 0);
    assertThat(FlowMatch.of(tcp).with(TcpFlags.DATA)).hasToString("tcp,tcp_flags=0x000/0x007");
  }
}
